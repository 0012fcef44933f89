import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteTableCommand,
  type DynamoDBClient,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { type Engine, startEngine } from '../../local/engine/engine.ts';
import { endpointOf, engineAddress } from '../../local/engine/engine-address.ts';
import { ENGINE_KINDS, type EngineKind, findRecipe } from '../../local/engine/engine-recipes.ts';
import { startSupervised } from '../../local/engine/supervised-process.ts';
import { ensureTables, LOCAL_TABLES } from '../../local/tables.ts';
import { freePort, startNamespaceCli, temporaryDirectory } from './cli.ts';

/** The network, other users of the machine and web pages can find the port of the engine. */

// These tests start their own engines.
process.env['DYNAMODB_ENDPOINT'] = '';

const OWN = Object.values(LOCAL_TABLES);
const LEGACY_FILE = 'shared-local-instance.db';
/** The addresses by which other machines reach this one, without IPv6 addresses that need a zone. */
const OUTSIDE = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith('fe80'))
  .map(({ address }) => address);

for (const kind of ENGINE_KINDS) {
  const skip = OUTSIDE.length === 0 && 'this machine has only loopback addresses';

  test(`row 13: other machines cannot reach the engine: ${kind}`, { skip }, async (t) => {
    const { url } = await started(t, kind);
    const { hostname, port } = new URL(url);
    assert.equal(await reaches(hostname, port), true);
    for (const address of OUTSIDE) assert.equal(await reaches(address, port), false, address);
  });
}

test('row 13: DynamoDB Local shows the tables only to clients with the access key', async (t) => {
  const { engine, url, client } = await started(t, 'dynamodb-local');
  for (const key of ['local', 'dynabus', 'AKIAEXAMPLE', '0'.repeat(32)]) {
    const other = clientOf(t, url.replace('http://', `http://${key}@`));
    assert.deepEqual(await tables(other), [], key);
    for (const TableName of OWN) {
      await assert.rejects(other.send(new DeleteTableCommand({ TableName })), {
        name: 'ResourceNotFoundException',
      });
    }
  }
  assert.deepEqual(await tables(client), OWN);
  assert.ok(!engine.name.includes(engineAddress(engine.endpoint).accessKey));
});

test('row 13: no web page can read the responses of DynamoDB Local', async (t) => {
  const { url } = await started(t, 'dynamodb-local');
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      Origin: 'http://evil.example',
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': 'DynamoDB_20120810.ListTables',
      'X-Amz-Date': '20260101T000000Z',
      Authorization:
        'AWS4-HMAC-SHA256 Credential=a/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=none',
    },
    body: '{}',
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
});

test('row 13: dynoxide, which answers every web page, listens on a random address instead of 127.0.0.1', async (t) => {
  const { url } = await started(t, 'dynoxide');
  const { hostname, port } = new URL(url);
  if (process.platform !== 'linux')
    return t.skip('only on Linux every address of 127/8 is this machine');
  assert.match(hostname, /^127\./);
  assert.equal(await reaches('127.0.0.1', port), false);
  const other = await started(t, 'dynoxide');
  assert.notEqual(new URL(other.url).hostname, hostname);
});

test('row 13: each run in memory has its own access key and does not print it', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynamodb-local'] });
  assert.doesNotMatch(cli.output() + cli.errors(), /[0-9a-f]{32}/);
  const [first, second] = [await started(t, 'dynamodb-local'), await started(t, 'dynamodb-local')];
  const keys = [first, second].map(({ engine }) => engineAddress(engine.endpoint).accessKey);
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/);
  assert.notEqual(keys[0], keys[1]);
});

test('row 13: data of an earlier version is found again', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  await writeLegacyData(t, dataDirectory);
  const engine = await startEngine({ dataDirectory });
  t.after(() => engine.stop());
  assert.deepEqual(await tables(clientOf(t, engine.endpoint)), OWN);
  assert.deepEqual(await tables(clientOf(t, engineAddress(engine.endpoint).url)), []);
  assert.ok(!readdirSync(dataDirectory).includes(LEGACY_FILE));
});

test('row 13: data of an earlier version never replaces newer data', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  const { engine } = await started(t, 'dynamodb-local', dataDirectory);
  await engine.stop();
  writeFileSync(join(dataDirectory, LEGACY_FILE), '');
  await assert.rejects(startEngine({ dataDirectory }), {
    name: 'StartupError',
    message:
      /holds both shared-local-instance\.db, of an earlier version, and .+: move one away\.$/,
  });
});

/** Starts an engine and creates the tables; also returns a client. */
async function started(t: TestContext, kind: EngineKind, dataDirectory?: string) {
  const engine: Engine = await startEngine({ kind, dataDirectory });
  t.after(() => engine.stop());
  const client = clientOf(t, engine.endpoint);
  await ensureTables(client, LOCAL_TABLES);
  return { engine, client, url: engineAddress(engine.endpoint).url };
}

/** Writes a data directory as earlier versions did: one data file for all access keys. */
async function writeLegacyData(t: TestContext, directory: string): Promise<void> {
  const recipe = findRecipe['dynamodb-local']();
  assert.ok(!('missing' in recipe), 'Java is here');
  const elsewhere = temporaryDirectory(t);
  const port = await freePort();
  const preparation = recipe.prepare(elsewhere, port);
  const args = [...preparation.arguments, '-sharedDb'];
  const old = startSupervised(recipe.command, args, preparation.files);
  const client = clientOf(t, endpointOf(recipe.host, port, 'local'));
  while ((await tables(client).catch(() => undefined)) === undefined) await delay(20);
  await ensureTables(client, LOCAL_TABLES);
  await old.stop();
  preparation.clean();
  renameSync(join(elsewhere, LEGACY_FILE), join(directory, LEGACY_FILE));
}

function clientOf(t: TestContext, endpoint: string): DynamoDBClient {
  const client = createDynamoClient(endpoint);
  t.after(() => client.destroy());
  return client;
}

async function tables(client: DynamoDBClient): Promise<readonly string[]> {
  return (await client.send(new ListTablesCommand({}))).TableNames ?? [];
}

async function reaches(host: string, port: string): Promise<boolean> {
  const socket = connect(Number(port), host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
