import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { type Engine, startEngine } from '../../local/engine/engine.ts';
import { engineAddress } from '../../local/engine/engine-address.ts';
import { chooseAccessKey } from '../../local/engine/engine-files.ts';
import { ENGINE_KINDS } from '../../local/engine/engine-recipes.ts';
import { startSupervised } from '../../local/engine/supervised-process.ts';
import { ensureTables, LOCAL_TABLES } from '../../local/tables.ts';
import { temporaryDirectory } from './cli.ts';

/** The name of DynamoDB Local's data file holds the access key to it. */

// These tests start their own engines.
process.env['DYNAMODB_ENDPOINT'] = '';

const OWN = Object.values(LOCAL_TABLES);
const [A, B] = ['a'.repeat(32), 'b'.repeat(32)];
const KEY_FILE = 'dynamodb-local.key';
const EARLIER = 'shared-local-instance.db';

for (const [what, change] of Object.entries<(keyFile: string) => void>({
  'no key file': (keyFile) => rmSync(keyFile, { force: true }),
  'an empty key file': (keyFile) => writeFileSync(keyFile, ''),
  'the key file of another directory': (keyFile) => writeFileSync(keyFile, `${A}\n`),
})) {
  test(`row 13: the name of the data file is enough to find the data again, with ${what}`, async (t) => {
    const dataDirectory = join(temporaryDirectory(t), 'new');
    const first = await started(t, dataDirectory);
    await first.stop();
    assert.deepEqual(modesIn(dataDirectory), [0o600]);
    assert.equal(modeOf(dataDirectory), 0o700);
    change(join(dataDirectory, KEY_FILE));

    await assert.rejects(startEngine({ kind: 'dynoxide', dataDirectory }), {
      message: `${dataDirectory} holds data of dynamodb-local, which dynoxide cannot read.`,
    });
    const second = await startEngine({ dataDirectory });
    t.after(() => second.stop());
    assert.deepEqual(await tables(second), OWN);
  });
}

test('row 13: a directory with several data files is refused', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  for (const key of [A, B]) writeFileSync(join(dataDirectory, `${key}_local.db`), '');
  await assert.rejects(startEngine({ dataDirectory }), {
    name: 'StartupError',
    message: `The data directory ${dataDirectory} holds several data files, ${A}_local.db and ${B}_local.db: move all but one away, each with the files whose names begin with its name.`,
  });
  rmSync(join(dataDirectory, `${A}_local.db`));
  // The file that SQLite left beside the removed data file has no effect.
  writeFileSync(join(dataDirectory, `${A}_local.db-wal`), '');
  assert.equal(chooseAccessKey(dataDirectory), B);
});

test('row 13: a partly renamed data file of an earlier version keeps its new name', (t) => {
  const directory = temporaryDirectory(t);
  for (const name of [EARLIER, `${A}_local.db-wal`]) writeFileSync(join(directory, name), '');
  assert.equal(chooseAccessKey(directory), A);
});

test('row 13: a data file that another process created during the wait for the lock is not hidden', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, `${A}_local.db`), '');
  const data = { directory, file: `${B}_local.db`, rivals: '_local\\.db$' };
  const engine = startSupervised(process.execPath, ['-e', ''], { data });
  await engine.stop();
  assert.equal(
    await engine.ended,
    `Another dynabus has just written ${A}_local.db in the data directory ${directory}: start again.`,
  );
});

test('row 13: after a first start that failed, either engine may use the directory', async (t) => {
  const dataDirectory = temporaryDirectory(t);
  const home = temporaryDirectory(t);
  mkdirSync(join(home, 'bin'));
  const java = '#!/bin/sh\n[ "$1" = -version ] || exit 1\necho \'openjdk version "17"\' >&2\n';
  writeFileSync(join(home, 'bin', 'java'), java, { mode: 0o755 });
  const before = process.env['JAVA_HOME'];
  t.after(() => {
    if (before === undefined) delete process.env['JAVA_HOME'];
    else process.env['JAVA_HOME'] = before;
  });
  process.env['JAVA_HOME'] = home;
  await assert.rejects(startEngine({ kind: 'dynamodb-local', dataDirectory }), /did not start/);
  assert.deepEqual(readdirSync(dataDirectory), []);
  const engine = await startEngine({ kind: 'dynoxide', dataDirectory });
  await engine.stop();
});

for (const kind of ENGINE_KINDS) {
  test(`row 13: a data directory that others can read is closed to them: ${kind}`, async (t) => {
    const dataDirectory = openDirectory(t);
    const warnings: string[] = [];
    const options = { kind, dataDirectory, warn: (line: string) => warnings.push(line) };
    await (await startEngine(options)).stop();
    // The access rights that earlier versions set.
    chmodSync(dataDirectory, 0o755);
    for (const name of readdirSync(dataDirectory)) chmodSync(join(dataDirectory, name), 0o644);
    const engine = await startEngine(options);
    t.after(() => engine.stop());
    assert.equal(modeOf(dataDirectory), 0o700);
    assert.ok(modesIn(dataDirectory).every((mode) => (mode & 0o077) === 0));
    assert.deepEqual(warnings, []);
  });
}

test('row 13: a directory with other files stays open with a warning, and its data files are closed', async (t) => {
  const dataDirectory = openDirectory(t);
  const other = join(dataDirectory, 'notes.txt');
  writeFileSync(other, '', { mode: 0o644 });
  const warnings: string[] = [];
  const warn = (line: string) => warnings.push(line);
  const engine = await started(t, dataDirectory, warn);
  assert.deepEqual(warnings, [
    `Other users of this machine can list ${dataDirectory}, where the name of the data file is the key to the data: restrict it to yourself with chmod 700, or choose another directory with --data.`,
  ]);
  await engine.stop();
  assert.equal(modeOf(dataDirectory), 0o755);
  assert.equal(modeOf(other), 0o644);
  renameSync(other, join(temporaryDirectory(t), 'notes.txt'));
  assert.deepEqual(modesIn(dataDirectory), [0o600]);
});

function openDirectory(t: TestContext): string {
  const directory = join(temporaryDirectory(t), 'open');
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  return directory;
}

/** Starts DynamoDB Local and creates the tables. */
async function started(t: TestContext, dataDirectory: string, warn = (_: string) => {}) {
  const engine = await startEngine({ kind: 'dynamodb-local', dataDirectory, warn });
  t.after(() => engine.stop());
  const client = createDynamoClient(engine.endpoint);
  await ensureTables(client, LOCAL_TABLES);
  client.destroy();
  return engine;
}

async function tables(engine: Engine): Promise<readonly string[]> {
  assert.match(engineAddress(engine.endpoint).accessKey, /^[0-9a-f]{32}$/);
  const client = createDynamoClient(engine.endpoint);
  const { TableNames = [] } = await client.send(new ListTablesCommand({}));
  client.destroy();
  return TableNames;
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function modesIn(directory: string): readonly number[] {
  return readdirSync(directory).map((name) => modeOf(join(directory, name)));
}
