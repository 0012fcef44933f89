import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { AmqpServer } from '../amqp/service/amqp-server.ts';
import type { Composition } from '../lambdas/http/compose.ts';
import { authorize } from '../lambdas/http/routing/access.ts';
import type { Admission } from '../server/admission.ts';
import { LEASE_MS } from '../shared/app/leases.ts';
import { processResources } from '../shared/app/namespace-settings.ts';
import { openStream } from '../shared/app/open-stream.ts';
import { PUBLIC_ROOT_KEY } from '../shared/auth/root-rule.ts';
import { BrokerError } from '../shared/domain/broker-error.ts';
import { documentClientOf } from '../shared/storage/dynamodb/document-table.ts';
import { LOCAL_PACE } from '../shared/storage/streams/shard-reader.ts';
import { obtainCertificate } from './certificate.ts';
import { withAllowedOrigins } from './cross-origin.ts';
import { listenOnDefaultPorts } from './default-ports.ts';
import { createDynamoClient } from './engine/dynamo-client.ts';
import type { Engine } from './engine/engine.ts';
import { engineAddress } from './engine/engine-address.ts';
import { withStartPage } from './explorer/start-page.ts';
import type { ApplyConfig, ConfigPort } from './namespaces/config-port.ts';
import { withControlRoutes } from './namespaces/control-routes.ts';
import { Namespaces } from './namespaces/namespaces.ts';
import { routeByToken } from './namespaces/route-by-token.ts';
import type { RunningNamespace } from './namespaces/running-namespace.ts';
import type { Options } from './options.ts';
import { startServer } from './server.ts';
import { StartupError } from './startup-error.ts';
import { ensureStream, ensureTables, LOCAL_TABLES } from './tables.ts';

/** The time limit for the creation of the tables, which takes an engine a second. */
const TABLES_MS_MAX = 30_000;

/** A server whose namespaces run. */
export interface LocalNamespace {
  readonly url: string;
  /**
   * Applies a configuration to the default namespace, as `PUT /$config` does, and remembers it for `POST /$reset`.
   * Throws what `apply` throws.
   */
  configure(apply: ApplyConfig): Promise<void>;
  /**
   * Deletes a namespace other than the default one, if it runs, and lets none of that name begin for a minute. Throws
   * what the deletion of entities throws.
   */
  remove(name: string): Promise<void>;
  /** Stops accepting connections and lets requests finish. Does not stop the engine. */
  stop(): Promise<void>;
}

/** How to serve the namespace. */
export interface NamespaceOptions
  extends Pick<Options, 'host' | 'port' | 'tier' | 'certificate' | 'allowedOrigins'>,
    Partial<Pick<Options, 'stream'>> {
  /** The key of RootManageSharedAccessKey, the rule with all rights. */
  readonly rootKey: string;
  readonly admission: Admission;
  /** Reads the configurations of `PUT /$config`. */
  readonly config: ConfigPort;
  /** How long an entity may be used after it was read, ms; default: `LEASE_MS.local`. */
  readonly leaseMs?: number;
  /** Receives a line for each step of the start. */
  readonly say: (step: string) => void;
  /** Receives a sentence about something that the user can correct. */
  readonly warn: (sentence: string) => void;
  readonly reportError: (error: unknown) => void;
}

/** Creates the missing tables. Throws StartupError if the engine fails, because the user can correct that. */
async function requireTables(client: DynamoDBClient, engine: Engine): Promise<void> {
  try {
    await Promise.race([ensureTables(client, LOCAL_TABLES), failAfterTimeout()]);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const where = engine.startedHere
      ? ` (${engine.name})`
      : ` at ${engineAddress(engine.endpoint).url}`;
    const lastError = engine.lastError();
    const detail = lastError === '' ? '' : ` Its last error: ${lastError}`;
    throw new StartupError(
      `The tables cannot be created in the engine${where}: ${cause.name}: ${cause.message}${detail}`,
      { cause },
    );
  }
}

async function failAfterTimeout(): Promise<never> {
  await delay(TABLES_MS_MAX, undefined, { ref: false });
  throw new Error(`it did not answer within ${TABLES_MS_MAX / 1000} s`);
}

/** Reads the stream of the messages table, which it gets if it has none; undefined = the engine has no streams. */
async function openLocalStream(client: DynamoDBClient, report: (error: unknown) => void) {
  try {
    await ensureStream(client, LOCAL_TABLES);
  } catch (error) {
    report(error);
    return undefined;
  }
  const { messages: messagesTable } = LOCAL_TABLES;
  return openStream({ client, messagesTable, pace: LOCAL_PACE, report });
}

/**
 * Creates the missing tables in an engine and serves namespaces on them, over HTTP and AMQP, each with its regular
 * sweep: the default one from the start, others from their first client on. Throws StartupError.
 */
export async function serveNamespace(
  engine: Engine,
  options: NamespaceOptions,
): Promise<LocalNamespace> {
  const { host, port, tier, certificate: file, rootKey, say, reportError } = options;
  const { admission, allowedOrigins, config, warn, leaseMs = LEASE_MS.local } = options;
  const client = createDynamoClient(engine.endpoint, {
    commitsLate: engine.commitsLate,
    lastError: () => engine.lastError(),
    reportFailure: reportError,
  });
  await requireTables(client, engine);
  say(`Tables are ready: ${Object.values(LOCAL_TABLES).join(', ')}`);

  const stream = options.stream ? await openLocalStream(client, reportError) : undefined;
  const namespaces = new Namespaces({
    client,
    documentClient: documentClientOf(client),
    tables: LOCAL_TABLES,
    process: processResources(),
    tier,
    leaseMs,
    rootKey,
    warn,
    reportError,
    stream,
  });
  const { amqp: ownDependencies } = namespaces.own;
  const controlled = withControlRoutes(routeByToken(namespaces), {
    namespaces,
    config,
    reportError,
    authorize: async (request, { composition: { dependencies } }: RunningNamespace) =>
      rootKey === PUBLIC_ROOT_KEY ? undefined : await rootRightsRefusal(dependencies, request),
  });
  const app = withAllowedOrigins(withStartPage(controlled), allowedOrigins);
  const amqp = new AmqpServer(ownDependencies, namespaces);
  // A certificate with a file is made at once, so that clients can be told to trust it before they connect.
  const kept = file === undefined ? undefined : obtainCertificate(file, Date.now());
  const server = await startServer({
    app,
    memory: ownDependencies.memory,
    amqp,
    ...(kept === undefined ? {} : { certificate: () => kept }),
    host,
    port,
    admission,
  });
  // A server on any free port does not take the standard AMQP ports, where clients look by default.
  const defaults =
    port === 0 ? undefined : await listenOnDefaultPorts({ host, port }, server.serve, warn);
  const also = defaults?.ports.length ? `, for AMQP on ${defaults.ports.join(' and ')} too` : '';
  say(`Listening on ${server.url}${also}`);

  return {
    url: server.url,
    remove: (name) => namespaces.remove(name),
    configure: (apply) => namespaces.own.configure(apply),
    stop: async () => {
      // First no new requests; then waiting receives end, and all other requests finish.
      defaults?.close();
      const closed = server.close();
      await amqp.close();
      await namespaces.close();
      stream?.close();
      await closed;
      await namespaces.idle();
      client.destroy();
    },
  };
}

/** The reason why a request has not all rights on the namespace; undefined if it has. */
async function rootRightsRefusal(
  dependencies: Composition['dependencies'],
  request: Request,
): Promise<string | undefined> {
  try {
    await authorize(dependencies, request, undefined, ['Manage']);
    return undefined;
  } catch (error) {
    if (error instanceof BrokerError) return error.message;
    throw error;
  }
}
