import { randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Gateway } from '../amqp/service/gateway.ts';
import { compose } from '../lambdas/http/compose.ts';
import { obtainCertificate } from './certificate.ts';
import { withClockRoutes } from './clock-routes.ts';
import { createDynamoClient } from './dynamo-client.ts';
import type { Engine } from './engine.ts';
import { MovableClock } from './movable-clock.ts';
import type { Options } from './options.ts';
import { startServer } from './server.ts';
import { StartupError } from './startup-error.ts';
import { startSweeping } from './sweeping.ts';
import { ensureTables, LOCAL_TABLES } from './tables.ts';
import { listenOnUsualPorts } from './usual-ports.ts';
import { ROOT_KEY } from './welcome.ts';

const NAMESPACE = 'dynabus';
const SWEEP_EVERY_MS = 60_000;
/** Waiting is free here, so a receive may wait as long as clients ever ask for. */
const RECEIVE_WAIT_MS_MAX = 60_000;

/** A namespace that answers. */
export interface LocalNamespace {
  readonly url: string;
  /** Stops accepting and lets requests finish. The engine is left to its owner. */
  stop(): Promise<void>;
}

export interface NamespaceOptions extends Pick<Options, 'host' | 'port' | 'tier' | 'certificate'> {
  /** Told what is being done, a line a step. */
  readonly say: (step: string) => void;
  readonly reportError: (error: unknown) => void;
}

/**
 * Creates the missing tables. Throws StartupError where an engine elsewhere fails, since the user can
 * correct that.
 */
async function requireTables(client: DynamoDBClient, engine: Engine): Promise<void> {
  try {
    await ensureTables(client, LOCAL_TABLES);
  } catch (cause) {
    if (engine.startedHere || !(cause instanceof Error)) throw cause;
    throw new StartupError(
      `The tables cannot be made in the engine at ${engine.endpoint}: ${cause.name}: ${cause.message}`,
      { cause },
    );
  }
}

/** Serves a namespace whose data an engine keeps. Throws StartupError. */
export async function serveNamespace(
  engine: Engine,
  { host, port, tier, certificate: file, say, reportError }: NamespaceOptions,
): Promise<LocalNamespace> {
  const client = createDynamoClient(engine.endpoint, engine);
  await requireTables(client, engine);
  say(`Tables are ready: ${Object.values(LOCAL_TABLES).join(', ')}`);

  const clock = new MovableClock();
  const composition = compose({
    client,
    tables: LOCAL_TABLES,
    namespace: NAMESPACE,
    tier,
    clock,
    random: { bytes: (count) => randomBytes(count) },
    rootKey: ROOT_KEY,
    soleProcess: engine.startedHere,
    receiveWaitMsMax: RECEIVE_WAIT_MS_MAX,
  });
  clock.onMove(() => composition.wake());
  const sweeping = startSweeping(() => composition.sweep(), SWEEP_EVERY_MS, reportError);
  const app = withClockRoutes(composition.app, clock, () => sweeping.now());
  const gateway = new Gateway({ ...composition.parts, reportFault: reportError });
  // Made at once where it is kept, so that clients can be given it before they connect.
  const kept = file === undefined ? undefined : obtainCertificate(file, Date.now());
  const server = await startServer({
    app,
    gateway,
    ...(kept === undefined ? {} : { certificate: () => kept }),
    host,
    port,
  });
  // Who asked for any port at all has no wish for these.
  const usual = port === 0 ? undefined : await listenOnUsualPorts(host, server.serve);
  const also = usual?.ports.length ? `, for AMQP on ${usual.ports.join(' and ')} too` : '';
  say(`Listening on ${server.url}${also}`);

  return {
    url: server.url,
    stop: async () => {
      // First no new requests; then those that only wait are let go, and the rest finish.
      usual?.close();
      const closed = server.close();
      await gateway.close();
      await sweeping.stop();
      await composition.close();
      await closed;
      await composition.idle();
      client.destroy();
    },
  };
}
