import { randomBytes } from 'node:crypto';
import { compose } from '../lambdas/http/compose.ts';
import { withClockRoutes } from './clock-routes.ts';
import { createDynamoClient } from './dynamo-client.ts';
import { type Engine, startEngine } from './engine.ts';
import { MovableClock } from './movable-clock.ts';
import type { Options } from './options.ts';
import { requireFreePort, startServer } from './server.ts';
import { startSweeping } from './sweeping.ts';
import { ensureTables, LOCAL_TABLES } from './tables.ts';
import { ROOT_KEY } from './welcome.ts';

const NAMESPACE = 'dynabus';
const SWEEP_EVERY_MS = 60_000;
/** Waiting is free here, so a receive may wait as long as clients ever ask for. */
const RECEIVE_WAIT_MS_MAX = 60_000;

/** A namespace that answers. */
export interface LocalNamespace {
  readonly url: string;
  readonly engine: Engine;
  /** Stops accepting, lets requests finish, then ends the engine. */
  stop(): Promise<void>;
}

export interface NamespaceOptions
  extends Pick<Options, 'host' | 'port' | 'dataDirectory' | 'engine'> {
  /** Told what is being done, a line a step. */
  readonly say: (step: string) => void;
  readonly reportError: (error: unknown) => void;
}

/** Starts engine, tables and server, in that order. Throws StartupError, leaving nothing behind. */
export async function startNamespace(options: NamespaceOptions): Promise<LocalNamespace> {
  const { host, port, say } = options;
  await requireFreePort(host, port);
  say('Starting the engine');
  const engine = await startEngine({ kind: options.engine, dataDirectory: options.dataDirectory });
  say(`Engine answers: ${engine.name}`);
  try {
    return await serveOn(engine, options);
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

async function serveOn(engine: Engine, options: NamespaceOptions): Promise<LocalNamespace> {
  const { host, port, say, reportError } = options;
  const client = createDynamoClient(engine.endpoint);
  await ensureTables(client, LOCAL_TABLES);
  say(`Tables are ready: ${Object.values(LOCAL_TABLES).join(', ')}`);

  const clock = new MovableClock();
  const composition = compose({
    client,
    tables: LOCAL_TABLES,
    namespace: NAMESPACE,
    clock,
    random: { bytes: (count) => randomBytes(count) },
    rootKey: ROOT_KEY,
    soleProcess: engine.startedHere,
    receiveWaitMsMax: RECEIVE_WAIT_MS_MAX,
  });
  const sweeping = startSweeping(() => composition.sweep(), SWEEP_EVERY_MS, reportError);
  const app = withClockRoutes(composition.app, clock, () => sweeping.now());
  const server = await startServer({ app, host, port });
  say(`Listening on ${server.url}`);

  return {
    url: server.url,
    engine,
    stop: async () => {
      // First no new requests; then those that only wait are let go, and the rest finish.
      const closed = server.close();
      await sweeping.stop();
      await composition.close();
      await closed;
      client.destroy();
      await engine.stop();
    },
  };
}
