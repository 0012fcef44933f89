import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { startEngine } from '../../local/engine/engine.ts';
import { endpointOf, engineAddress } from '../../local/engine/engine-address.ts';
import { ENGINE_KINDS } from '../../local/engine/engine-recipes.ts';
import { ensureTables, LOCAL_TABLES } from '../../local/tables.ts';
import { ApiClient } from '../support/api-client.ts';
import { ROOT_KEY } from '../support/start-broker.ts';
import { startCli, startNamespaceCli, temporaryDirectory } from './cli.ts';

/** Data directories with unusual names or contents, and a full disk. */

const RUNNING = process.env['DYNAMODB_ENDPOINT'] ?? '';
// These tests start their own engines, in the locale of a container without settings.
process.env['DYNAMODB_ENDPOINT'] = '';
process.env['LC_ALL'] = 'C';

const KEY = '0123456789abcdef0123456789abcdef';
const ODD_NAME = `-ü 漢%20%s'";#?&:\\\n${'x'.repeat(150)}`;
const DATA_FILE = { 'dynamodb-local': `${KEY}_local.db`, dynoxide: 'dynoxide.db' } as const;

for (const kind of ENGINE_KINDS) {
  test(`row 23: a data directory may have any name: ${kind}`, async (t) => {
    const dataDirectory = join(temporaryDirectory(t), ODD_NAME, ODD_NAME);
    for (let starts = 0; starts < 2; starts++) {
      const engine = await startEngine({ kind, dataDirectory });
      const client = createDynamoClient(engine.endpoint, engine);
      await ensureTables(client, LOCAL_TABLES);
      client.destroy();
      await engine.stop();
    }
  });

  const odd: Readonly<Record<string, readonly [(file: string) => void, RegExp]>> = {
    'a directory': [(file) => mkdirSync(file), /is not a file/],
    'a dangling link': [(file) => symlinkSync('/nonexistent/file', file), /cannot be used/],
    'a pipe': [(file) => execFileSync('mkfifo', [file]), /is not a file/],
    'a device': [(file) => symlinkSync('/dev/full', file), /is not a file/],
    'something else': [
      (file) => writeFileSync(file, randomBytes(5000)),
      /does not hold a database/,
    ],
    'too short': [(file) => writeFileSync(file, 'SQLite'), /does not hold a database/],
  };
  for (const [what, [make, reason]] of Object.entries(odd)) {
    test(`row 23: a data file that is ${what} gives a UsageError: ${kind}`, async (t) => {
      const dataDirectory = temporaryDirectory(t);
      make(join(dataDirectory, DATA_FILE[kind]));
      const error = await rejection(startEngine({ kind, dataDirectory }));
      assert.equal(error.name, 'UsageError');
      assert.match(error.message, reason);
      assert.ok(error.message.includes(dataDirectory), error.message);
    });
  }

  test(`row 23: a directory with the name of the lock gives an error that names it: ${kind}`, async (t) => {
    const dataDirectory = temporaryDirectory(t);
    mkdirSync(join(dataDirectory, 'in-use.sock'));
    const { message } = await rejection(startEngine({ kind, dataDirectory }));
    assert.match(message, /in-use\.sock in .+ blocks the lock of the data directory: remove it\./);
  });
}

test('row 23: a --data that is not a directory is refused', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'file'), '');
  symlinkSync('nowhere', join(directory, 'dangling'));
  symlinkSync('loop', join(directory, 'loop'));
  const names = ['file', 'file/below', 'dangling', 'loop', 'x'.repeat(300)];
  for (const place of ['/dev/null', '/proc/self', ...names.map((name) => join(directory, name))]) {
    const { name, message } = await rejection(startEngine({ dataDirectory: place }));
    assert.equal(name, 'UsageError', place);
    assert.ok(message.startsWith(`The data directory ${place} cannot be used: `), message);
    assert.match(message, /: [a-z][a-z ]+\.$/);
  }
});

test('row 23: an empty --data is refused', async (t) => {
  const cli = startCli(t, { args: ['--port', '0', '--data='] });
  assert.equal(await cli.ended, 2);
  assert.match(cli.errors(), /^--data takes a directory; .+\n$/);
});

test('row 23: the server reports a full disk once on the error output', async (t) => {
  const disk = await startFullDiskProxy(t);
  const env = { DYNAMODB_ENDPOINT: disk.endpoint };
  const cli = await startNamespaceCli(t, { env });
  const api = new ApiClient(cli.url, ROOT_KEY);
  const queue = `full-${randomBytes(4).toString('hex')}`;
  const entry =
    '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';
  assert.equal((await api.request('PUT', queue, { body: entry })).status, 201);
  assert.equal(cli.errors(), '');

  disk.isFull = true;
  for (let sends = 0; sends < 3; sends++) {
    assert.equal((await api.request('POST', `${queue}/messages`, { body: 'm' })).status, 504);
  }

  await cli.untilReported('Check that its disk is not full');
  assert.match(
    cli.errors(),
    /^The engine failed at a \w+Command: InternalFailure: .+\nCheck that its disk is not full and that its data can be read and written\.\n$/,
  );
  disk.isFull = false;
  assert.equal((await api.request('POST', `${queue}/messages`, { body: 'm' })).status, 201);
});

async function rejection(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, 'the engine does not start');
  return error;
}

/** A proxy to the engine of the test run. While `isFull`, writes fail as in DynamoDB Local on a full disk. */
async function startFullDiskProxy(t: TestContext) {
  const { url, accessKey } = engineAddress(RUNNING);
  const disk = { isFull: false, endpoint: '' };
  const server = createServer((incoming, outgoing) => {
    const { headers, method } = incoming;
    const isWrite = /Put|Update|Delete|Write/.test(String(headers['x-amz-target']));
    if (disk.isFull && isWrite) {
      incoming.resume();
      const fault = 'com.amazonaws.dynamodb.v20120810#InternalFailure';
      const type = { 'content-type': 'application/x-amz-json-1.0' };
      outgoing.writeHead(500, type).end(JSON.stringify({ __type: fault, Message: 'unknown' }));
      return;
    }
    const onward = request(url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  disk.endpoint = endpointOf('127.0.0.1', address.port, accessKey);
  return disk;
}
