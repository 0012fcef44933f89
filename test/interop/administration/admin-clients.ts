import { after, before, describe } from 'node:test';
import { ServiceBusAdministrationClient as StableClient } from '@azure/service-bus';
import { ServiceBusAdministrationClient as BetaClient } from 'service-bus-beta';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { BETA, STABLE, VERSION_IN_FULL, type Version } from '../versions.ts';

/** What both versions of the official client can do. */
export type AdministrationClient = Omit<
  StableClient,
  'pipeline' | 'sendRequest' | 'sendOperationRequest'
>;

/** A refusal must come at once, not after four tries. */
const OPTIONS = { retryOptions: { maxRetries: 0 } };

/** Connects a version of the official client. */
export const ADMINISTRATION_CLIENTS: Readonly<
  Record<Version, (connectionString: string) => AdministrationClient>
> = {
  [BETA]: (connectionString) => new BetaClient(connectionString, OPTIONS),
  [STABLE]: (connectionString) => overPlainHttp(new StableClient(connectionString, OPTIONS)),
};

/** A client of a namespace, for suites that are about something else. */
export function administrationOf(connectionString: string): AdministrationClient {
  return new BetaClient(connectionString, OPTIONS);
}

/** This version knows only https; its pipeline is public, so one policy is enough. */
function overPlainHttp(client: StableClient): StableClient {
  client.pipeline.addPolicy(
    {
      name: 'plainHttp',
      sendRequest: (request, next) => {
        request.url = request.url.replace(/^https:/, 'http:');
        request.allowInsecureConnection = true;
        return next(request);
      },
    },
    { afterPhase: 'Sign' },
  );
  return client;
}

/** The client of the suite that is running. */
export interface Connected {
  readonly client: AdministrationClient;
}

/** Runs a suite with a version of the official client, against a namespace of its own. */
export function withAdministration(
  name: string,
  suite: (connected: Connected) => void,
  options: Pick<Parameters<typeof startNamespace>[0] & object, 'tier'> = {},
): void {
  describe(`${name} (@azure/service-bus ${VERSION_IN_FULL})`, () => {
    let namespace: TestNamespace;
    let client: AdministrationClient;
    before(async () => {
      namespace = await startNamespace(options);
      client = ADMINISTRATION_CLIENTS[VERSION_IN_FULL](namespace.connectionString);
    });
    after(() => namespace.stop());
    suite({
      get client() {
        return client;
      },
    });
  });
}

/** All items of a paged list. */
export async function all<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** An answer without what the client adds to it: the raw response. */
export function plain<T extends object>(answer: T): Omit<T, '_response'> {
  return { ...answer };
}
