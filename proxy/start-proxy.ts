import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { AmqpServer } from '../amqp/service/amqp-server.ts';
import type { Upstream } from '../connect/upstream.ts';
import { createProtocolServer, type ServerDependencies } from '../server/server.ts';
import type { NamespaceKeys } from '../shared/auth/namespace-keys.ts';
import type { DrainNotice } from './drain-notice.ts';

/** What a proxy serves, to whom, and where. The settings of `ServerDependencies` are described there. */
export interface ProxyOptions
  extends Pick<
    ServerDependencies,
    'app' | 'certificate' | 'isBehindTls' | 'loadBalancer' | 'admission'
  > {
  readonly upstream: Pick<Upstream, 'dependencies' | 'idle' | 'close'>;
  /** The keys by which clients reach it. Those of the rules of entities are valid beside them. */
  readonly keys: NamespaceKeys;
  /** The address to listen on; default: all of this machine. */
  readonly host?: string | undefined;
  /** 0 = any free port. */
  readonly port: number;
  readonly drainNotice: DrainNotice;
  /** Ends the requests over HTTP that wait for messages; absent = none waits. */
  readonly endWaits?: (() => Promise<void>) | undefined;
  /** How long the end may take after the notice, ms. */
  readonly stopMsMax: number;
}

/** A running proxy. */
export interface RunningProxy {
  readonly port: number;
  /** Number of clients that are connected over AMQP. */
  readonly connections: number;
  /**
   * Gives the drain notice and serves on for its time; then accepts no connections, finishes what is under way,
   * disconnects all clients, and closes the upstream. Rejects if that takes too long.
   */
  stop(): Promise<void>;
}

/**
 * Serves an upstream over AMQP and AMQP over WebSockets, and an app over HTTP, all on one port. Rejects with the
 * system's error if it cannot listen there.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { upstream, keys, host, port, drainNotice, endWaits, stopMsMax, ...server } = options;
  const amqp = new AmqpServer({ ...upstream.dependencies, namespaceKeys: keys });
  const { memory } = upstream.dependencies;
  const { http, close } = createProtocolServer({ ...server, memory, amqp });
  http.listen(port, host);
  await once(http, 'listening');
  const finish = async () => {
    const closed = close();
    // Waiting requests end at once; everything else under way ends together.
    await Promise.all([amqp.close(), endWaits?.()]);
    await closed;
    await upstream.idle();
    await upstream.close();
  };
  return {
    port: (http.address() as AddressInfo).port,
    get connections() {
      return amqp.connections;
    },
    stop: async () => {
      await drainNotice.give();
      await Promise.race([finish(), overdue(stopMsMax)]);
    },
  };
}

async function overdue(stopMsMax: number): Promise<never> {
  await pause(stopMsMax, undefined, { ref: false });
  throw new Error(`Clients were still there ${stopMsMax / 1000} s after all were sent away.`);
}
