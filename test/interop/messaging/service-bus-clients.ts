import { after, before, describe } from 'node:test';
import { ServiceBusClient as StableClient } from '@azure/service-bus';
import { ServiceBusClient as BetaClient } from 'service-bus-beta';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { BETA, STABLE, VERSION_IN_FULL, type Version } from '../versions.ts';

/** A refusal must come at once, not after four tries. */
const OPTIONS = { retryOptions: { maxRetries: 0, timeoutInMs: 20_000 } };

/** Connects a version of the official client. */
export const BUS_CLIENTS: Readonly<Record<Version, (connectionString: string) => StableClient>> = {
  [BETA]: (connectionString) =>
    new BetaClient(connectionString, OPTIONS) as unknown as StableClient,
  [STABLE]: (connectionString) => new StableClient(connectionString, OPTIONS),
};

/** What a suite works with: a version of the official client, connected, and management. */
export interface ConnectedBus {
  readonly client: StableClient;
  readonly admin: AdministrationClient;
  readonly namespace: TestNamespace;
  /** Connects once more. */
  connect(): StableClient;
}

/** Runs a suite with a version of the official client, against a namespace of its own. */
export function withBus(
  name: string,
  suite: (bus: ConnectedBus) => void,
  version: Version = VERSION_IN_FULL,
): void {
  describe(`${name} (@azure/service-bus ${version} over AMQP)`, () => {
    const connect = BUS_CLIENTS[version];
    let namespace: TestNamespace;
    let client: StableClient;
    const others: StableClient[] = [];
    before(async () => {
      namespace = await startNamespace();
      client = connect(namespace.connectionString);
    });
    after(async () => {
      await Promise.all([client, ...others].map((one) => one.close()));
      await namespace.stop();
    });
    suite({
      get client() {
        return client;
      },
      get admin() {
        return administrationOf(namespace.connectionString);
      },
      get namespace() {
        return namespace;
      },
      connect() {
        const other = connect(namespace.connectionString);
        others.push(other);
        return other;
      },
    });
  });
}
