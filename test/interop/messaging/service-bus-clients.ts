import { after, before, describe } from 'node:test';
import { ServiceBusClient as StableClient } from '@azure/service-bus';
import { ServiceBusClient as BetaClient } from 'service-bus-beta';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** A refusal must come at once, not after four tries. */
const OPTIONS = { retryOptions: { maxRetries: 0, timeoutInMs: 20_000 } };

/** Connects each version of the official client. */
export const BUS_CLIENTS: Readonly<Record<string, (connectionString: string) => StableClient>> = {
  '7.10.0-beta.2': (connectionString) =>
    new BetaClient(connectionString, OPTIONS) as unknown as StableClient,
  '7.9.5': (connectionString) => new StableClient(connectionString, OPTIONS),
};

/** What a suite works with: one version of the official client, connected, and management. */
export interface ConnectedBus {
  readonly client: StableClient;
  readonly admin: AdministrationClient;
  readonly namespace: TestNamespace;
  /** Whether it is the newest version, which can do more. */
  readonly isBeta: boolean;
  /** Connects once more. */
  connect(): StableClient;
}

/** Runs a suite with each version of the official client, each against a namespace of its own. */
export function withEachBus(name: string, suite: (bus: ConnectedBus) => void): void {
  for (const [version, connect] of Object.entries(BUS_CLIENTS)) {
    describe(`${name} (@azure/service-bus ${version} over AMQP)`, () => {
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
        isBeta: version.includes('beta'),
        connect() {
          const other = connect(namespace.connectionString);
          others.push(other);
          return other;
        },
      });
    });
  }
}
