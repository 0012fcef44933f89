import { after, before, describe } from 'node:test';
import { type ServiceBusClientOptions, ServiceBusClient as StableClient } from '@azure/service-bus';
import { ServiceBusClient as BetaClient } from 'service-bus-beta';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { BETA, STABLE, VERSION_IN_FULL, type Version } from '../versions.ts';
import { WAYS, WAYS_IN_FULL, type Way } from './ways.ts';

/** A refusal must come at once, not after four tries. */
const OPTIONS = { retryOptions: { maxRetries: 0, timeoutInMs: 20_000 } };

type Connect = (connectionString: string, options?: ServiceBusClientOptions) => StableClient;

/** Connects a version of the official client. */
export const BUS_CLIENTS: Readonly<Record<Version, Connect>> = {
  [BETA]: (connectionString, options) =>
    new BetaClient(connectionString, { ...OPTIONS, ...options }) as unknown as StableClient,
  [STABLE]: (connectionString, options) =>
    new StableClient(connectionString, { ...OPTIONS, ...options }),
};

/** What a suite works with: a version of the official client, connected, and management. */
export interface ConnectedBus {
  readonly client: StableClient;
  readonly admin: AdministrationClient;
  readonly namespace: TestNamespace;
  /** In which way the clients are connected. */
  readonly way: Way;
  /** Connects once more. */
  connect(differently?: Differently): Promise<StableClient>;
}

/** How a further client differs from the others. */
export interface Differently {
  readonly options?: ServiceBusClientOptions;
  readonly connectionString?: string;
  readonly version?: Version;
}

/** How a suite runs; default: with the version in full, in the ways in full. */
export interface BusSettings {
  readonly version?: Version;
  readonly ways?: readonly Way[];
}

/** Runs a suite with a version of the official client, each way against a namespace of its own. */
export function withBus(
  name: string,
  suite: (bus: ConnectedBus) => void,
  { version = VERSION_IN_FULL, ways = WAYS_IN_FULL }: BusSettings = {},
): void {
  for (const way of ways) {
    describe(`${name} (@azure/service-bus ${version} over AMQP: ${way})`, () => {
      suite(connectedBus(way, version));
    });
  }
}

function connectedBus(way: Way, version: Version): ConnectedBus {
  let namespace: TestNamespace;
  let client: StableClient;
  const ends: (() => Promise<void>)[] = [];
  const connect: ConnectedBus['connect'] = async (differently = {}) => {
    const { connectionString = namespace.connectionString, options } = differently;
    const connectVersion = BUS_CLIENTS[differently.version ?? version];
    const reached = await WAYS[way](namespace, connectionString);
    const other = connectVersion(reached.connectionString, { ...reached.options, ...options });
    ends.push(async () => {
      await other.close();
      await reached.close();
    });
    return other;
  };
  before(async () => {
    namespace = await startNamespace();
    client = await connect();
  });
  after(async () => {
    await Promise.all(ends.map((end) => end()));
    await namespace.stop();
  });
  return {
    way,
    get client() {
      return client;
    },
    get admin() {
      return administrationOf(namespace.connectionString);
    },
    get namespace() {
      return namespace;
    },
    connect,
  };
}
