import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { deployedHttpSettings } from '../../shared/app/deployed-settings.ts';
import { VARIABLES } from '../../shared/app/variables.ts';
import type { RootKeySource } from '../../shared/auth/root-key.ts';

const MINUTE_MS = 60_000;

const KEYS = { primary: 'first', secondary: 'first' };

test('the root keys are read once, and again after five minutes', async (t) => {
  const secrets = await startSecrets(t, { current: 'first' });
  const rootKey = readerOf(t);

  assert.deepEqual(await Promise.all([rootKey.current(), rootKey.current()]), [KEYS, KEYS]);
  secrets.put('second');
  t.mock.timers.tick(5 * MINUTE_MS - 1);
  assert.deepEqual(await rootKey.current(), KEYS);
  t.mock.timers.tick(1);
  assert.deepEqual(await rootKey.current(), { primary: 'second', secondary: 'first' });
  assert.deepEqual(secrets.asked, ['AWSCURRENT', 'AWSPREVIOUS', 'AWSCURRENT', 'AWSPREVIOUS']);
});

test('the current version of the secret is the primary key, the one before it the secondary', async (t) => {
  const secrets = await startSecrets(t, { current: 'second', previous: 'first' });
  const rootKey = readerOf(t);

  assert.deepEqual(await rootKey.current(), { primary: 'second', secondary: 'first' });
  secrets.put('third');
  const changed = await rootKey.changedFrom(await rootKey.current());
  assert.deepEqual(changed, { primary: 'third', secondary: 'second' });
});

test('root keys that were good are kept while they cannot be read', async (t) => {
  const secrets = await startSecrets(t, { current: 'first' });
  const rootKey = readerOf(t);

  await rootKey.current();
  secrets.versions.current = undefined;
  t.mock.timers.tick(5 * MINUTE_MS);
  assert.deepEqual(await rootKey.current(), KEYS);
});

test('a version before that cannot be read, though it is there, is not taken for none', async (t) => {
  const secrets = await startSecrets(t, { current: 'second', previous: 'first' });
  const rootKey = readerOf(t);

  await rootKey.current();
  secrets.versions.previous = 'refused';
  t.mock.timers.tick(5 * MINUTE_MS);
  assert.deepEqual(await rootKey.current(), { primary: 'second', secondary: 'first' });
});

test('root keys that could not be read are read again by the next call', async (t) => {
  const secrets = await startSecrets(t, {});
  const rootKey = readerOf(t);

  await assert.rejects(rootKey.current(), { name: 'ResourceNotFoundException' });
  secrets.versions.current = 'first';
  assert.deepEqual(await rootKey.current(), KEYS);
});

function readerOf(t: TestContext): RootKeySource {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const environment = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, '1']));
  const { rootKey } = deployedHttpSettings({
    ...environment,
    [VARIABLES.access]: 'sas',
    [VARIABLES.tier]: 'Standard',
  });
  assert.ok(typeof rootKey !== 'string');
  return rootKey;
}

interface Versions {
  current?: string | undefined;
  /** `refused` = Secrets Manager does not give it out. */
  previous?: string | undefined;
}

/** The few answers of Secrets Manager that are needed, for the real client to read. */
async function startSecrets(t: TestContext, versions: Versions) {
  const secrets = {
    versions,
    /** The stages that were asked for. */
    asked: [] as string[],
    /** As `aws secretsmanager put-secret-value` does. */
    put: (key: string) => {
      versions.previous = versions.current;
      versions.current = key;
    },
  };
  const server = createServer(async (request, response) => {
    const { VersionStage: stage } = (await json(request)) as { readonly VersionStage: string };
    secrets.asked.push(stage);
    const value = stage === 'AWSPREVIOUS' ? versions.previous : versions.current;
    response.statusCode = value === undefined || value === 'refused' ? 400 : 200;
    response.end(JSON.stringify(answerOf(value)));
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

function answerOf(value: string | undefined) {
  if (value === undefined) return { __type: 'ResourceNotFoundException', message: 'Not there.' };
  if (value === 'refused') return { __type: 'AccessDeniedException', message: 'Not allowed.' };
  return { SecretString: value };
}
