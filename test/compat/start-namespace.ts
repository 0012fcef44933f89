import { randomBytes } from 'node:crypto';
import { manageRoutes } from '../../lambdas/manage/app.ts';
import { startServer } from '../../local/server.ts';
import { fakeManageParts } from '../support/fake-entity-store.ts';

/** A namespace that answers on this machine, empty at first. */
export interface TestNamespace {
  /** As the official clients take it; `entityPath`-less, with the root key. */
  readonly connectionString: string;
  stop(): Promise<void>;
}

const KEY_NAME = 'RootManageSharedAccessKey';
const KEY = randomBytes(32).toString('base64');

/** Starts one. The only place that knows what the clients are tried against. */
export async function startNamespace(): Promise<TestNamespace> {
  const app = manageRoutes(fakeManageParts({ keyName: KEY_NAME, key: KEY }));
  const server = await startServer({ app, host: '127.0.0.1', port: 0 });
  return {
    connectionString: `Endpoint=sb://localhost:${server.port};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`,
    stop: () => server.close(),
  };
}
