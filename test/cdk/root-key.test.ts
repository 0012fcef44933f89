import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deployedHttpParts } from '../../lambdas/http/deployed-parts.ts';
import { VARIABLES } from '../../lambdas/http/variables.ts';

const MINUTE_MS = 60_000;

test('the root key is read once, and again after five minutes', async (t) => {
  const secrets = await startSecrets(t, 'first');
  const rootKey = readerOf(t);

  assert.deepEqual(await Promise.all([rootKey(), rootKey()]), ['first', 'first']);
  secrets.key = 'second';
  t.mock.timers.tick(5 * MINUTE_MS - 1);
  assert.equal(await rootKey(), 'first');
  t.mock.timers.tick(1);
  assert.equal(await rootKey(), 'second');
  assert.equal(secrets.reads, 2);
});

test('a root key that was good is kept while it cannot be read', async (t) => {
  const secrets = await startSecrets(t, 'first');
  const rootKey = readerOf(t);

  await rootKey();
  secrets.key = undefined;
  t.mock.timers.tick(5 * MINUTE_MS);
  assert.equal(await rootKey(), 'first');
});

test('a root key that could not be read is read again by the next call', async (t) => {
  const secrets = await startSecrets(t, undefined);
  const rootKey = readerOf(t);

  await assert.rejects(rootKey(), { name: 'ResourceNotFoundException' });
  secrets.key = 'first';
  assert.equal(await rootKey(), 'first');
});

function readerOf(t: TestContext): () => Promise<string> {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const environment = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, '1']));
  return deployedHttpParts({
    ...environment,
    [VARIABLES.access]: 'sas',
    [VARIABLES.tier]: 'Standard',
  }).rootKey;
}

/** The one answer of Secrets Manager that is needed, for the real client to read. */
async function startSecrets(t: TestContext, key: string | undefined) {
  const secrets = { key, reads: 0 };
  const server = createServer((_request, response) => {
    secrets.reads += 1;
    response.statusCode = secrets.key === undefined ? 400 : 200;
    response.end(
      JSON.stringify(
        secrets.key === undefined
          ? { __type: 'ResourceNotFoundException', message: 'Not there.' }
          : { SecretString: secrets.key },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const environment = {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}`,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'key',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
  const before = { ...process.env };
  Object.assign(process.env, environment);
  t.after(() => {
    process.env = before;
    server.closeAllConnections();
    server.close();
  });
  return secrets;
}
