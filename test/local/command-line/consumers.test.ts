import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { NamespaceDescription } from '../../../local/config/description.ts';
import { ANY_TARGET, LAMBDA } from '../../support/consumers.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import { temporaryDirectory } from '../cli.ts';
import { type RunOptions, runCommand } from './run-command.ts';

/** The commands on consumers, and those in files of entities. */

const LOCAL = 'http://127.0.0.1:3000/orders';
const DLQ = 'orders/$deadletterqueue';

/** A namespace with a dispatcher, with the queue `orders` and the subscription `events/subscriptions/billing`. */
async function start(t: TestContext) {
  const { api } = await startBroker(t, { push: ANY_TARGET });
  const endpoint = api.url.replace('http:', 'sb:');
  const DYNABUS_CONNECTION_STRING = `Endpoint=${endpoint};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;`;
  const directory = temporaryDirectory(t);
  const run = (args: readonly string[], options: RunOptions = {}) =>
    runCommand(args, { ...options, env: { DYNABUS_CONNECTION_STRING } });
  const succeed = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  return {
    run,
    succeed,
    importOf: async (description: object, ...options: string[]) => {
      const file = join(directory, 'entities.json');
      writeFileSync(file, JSON.stringify(description));
      const { code, stdout, stderr } = await run([
        'import',
        '--entities',
        file,
        '--json',
        ...options,
      ]);
      return { code, stderr, json: stdout === '' ? undefined : JSON.parse(stdout) };
    },
    exported: async () => {
      const file = join(directory, 'exported.json');
      await succeed('export', '--entities', '--out', file);
      return JSON.parse(readFileSync(file, 'utf8'));
    },
  };
}

const ENTITIES: NamespaceDescription = {
  queues: ['orders'],
  topics: { events: { subscriptions: ['billing'] } },
};

test('a consumer is set, listed, replaced and removed', async (t) => {
  const { succeed, run, importOf } = await start(t);
  assert.equal((await importOf(ENTITIES)).code, 0);
  assert.match((await run(['consumer', 'list'])).stderr, /The namespace has no consumers/);
  const set = ['consumer', 'set', 'orders', 'worker', '--target', LOCAL];
  assert.equal(await succeed(...set), 'Created the consumer worker of orders.\n');
  const all = ['--batch', '100', '--window', 'PT1S', '--concurrency', '2', '--rate', '7'];
  const more = ['--timeout', '30s', '--disabled'];
  assert.equal(await succeed(...set, ...all, ...more), 'Replaced the consumer worker of orders.\n');
  const [shown] = JSON.parse(await succeed('consumer', 'list', 'orders', '--json'));
  const { createdAt: _, modifiedAt: __, ...consumer } = shown;
  assert.deepEqual(consumer, {
    queue: 'orders',
    name: 'worker',
    target: LOCAL,
    maxBatch: 100,
    batchWindow: 'PT1S',
    maxConcurrency: 2,
    maxPerSecond: 7,
    timeout: 'PT30S',
    enabled: false,
    requiresSession: false,
    state: { isRunning: false },
  });
  await succeed('consumer', 'set', DLQ, 'dead', '--target', LAMBDA);
  await succeed('consumer', 'set', 'events/subscriptions/billing', 'bill', '--target', LAMBDA);
  const table = await succeed('consumer', 'list');
  assert.deepEqual(
    table.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2).join(' ')),
    ['QUEUE CONSUMER', 'events/Subscriptions/billing bill', 'orders worker', `${DLQ} dead`, ''],
  );
  assert.match(table, /orders +worker +http:\S+ +100 +PT1S +2 +7 +PT30S +Disabled\n/);
  assert.match(table, /dead +arn:\S+ +10 +PT0S +10 +PT1M +Enabled\n/);
  const listed = JSON.parse(await succeed('consumer', 'list', '--json'));
  assert.deepEqual(
    listed.map(({ state }: { readonly state: unknown }) => state),
    [{ isRunning: false }, { isRunning: false }, { isRunning: false }],
  );
  assert.equal(
    await succeed('consumer', 'remove', DLQ, 'DEAD'),
    `Removed the consumer DEAD of ${DLQ}.\n`,
  );
  assert.match((await run(['consumer', 'list', DLQ])).stderr, /deadletterqueue has no consumers/);
  const again = await run(['consumer', 'remove', DLQ, 'dead']);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /'orders\/\$deadletterqueue\/Consumers\/dead' could not be found/);
});

test('wrong input of dynabus consumer is named before anything is called', async (t) => {
  const { run } = await start(t);
  for (const [args, sentence] of [
    [['lst'], /There is no 'lst': write list, set or remove/],
    [['set', 'orders', 'w'], /set needs --target/],
    [['set', 'orders', '--target', LOCAL], /set takes the path of a queue and the name/],
    [['remove', 'orders'], /remove takes the path of a queue and the name/],
    [['list', 'orders', 'w'], /list takes a path and no name/],
    [['list', '--rate', '1'], /--rate is for dynabus consumer set/],
    [['remove', 'orders', 'w', '--disabled'], /--disabled is for dynabus consumer set/],
    [['set', 'orders', 'w', '--target', LOCAL, '--batch', 'x'], /--batch takes a whole number/],
    [['set', 'orders', 'w', '--target', LOCAL, '--window', '1'], /--window takes a duration/],
    [['list', 'orders//x'], /is no path of an entity/],
  ] as const) {
    const { code, stderr } = await run(['consumer', ...args]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, sentence);
  }
});

const BEFORE: NamespaceDescription = {
  queues: {
    orders: {
      consumers: [
        { name: 'Same', target: LAMBDA, batchWindow: { seconds: 2 } },
        { name: 'changed', target: LAMBDA, maxBatch: 5, maxPerSecond: 9 },
        { name: 'other', target: LOCAL, enabled: false },
        { name: 'changed', subQueue: 'deadLetter', target: LAMBDA },
      ],
    },
    plain: {},
  },
  topics: { events: { subscriptions: { billing: { consumers: { bill: LOCAL } } } } },
};

test('an export has the consumers of all entities, and its import makes them again', async (t) => {
  const { importOf, exported } = await start(t);
  const done = await importOf(BEFORE);
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.ok(done.json.created.includes(`${DLQ}/Consumers/changed`), JSON.stringify(done.json));
  const file = await exported();
  const [{ Queues, Topics }] = file.UserConfig.Namespaces;
  assert.deepEqual(Queues[0].Consumers, [
    { Name: 'changed', Properties: { Target: LAMBDA, MaxBatch: 5, MaxPerSecond: 9 } },
    { Name: 'other', Properties: { Target: LOCAL, Enabled: false } },
    { Name: 'Same', Properties: { Target: LAMBDA, BatchWindow: 'PT2S' } },
    { Name: 'changed', SubQueue: 'DeadLetter', Properties: { Target: LAMBDA } },
  ]);
  assert.equal(Object.hasOwn(Queues[1], 'Consumers'), false);
  assert.deepEqual(Topics[0].Subscriptions[0].Consumers, [
    { Name: 'bill', Properties: { Target: LOCAL } },
  ]);
  const other = await start(t);
  assert.equal((await other.importOf(file)).code, 0);
  assert.deepEqual(await other.exported(), file);
  // Nothing is left to do.
  const again = await other.importOf(BEFORE, '--update');
  assert.deepEqual([again.json.created, again.json.updated, again.json.deleted], [[], [], []]);
});

const AFTER: NamespaceDescription = {
  queues: {
    orders: {
      maxDeliveryCount: 3,
      consumers: [
        { name: 'same', target: LAMBDA, batchWindow: 'PT2S' },
        { name: 'changed', target: LOCAL, maxBatch: 5 },
        { name: 'added', target: LOCAL },
      ],
    },
  },
  // Says nothing of consumers.
  topics: { events: { subscriptions: ['billing'] } },
};

test('an import creates missing consumers, and names those that differ', async (t) => {
  const { importOf } = await start(t);
  await importOf(BEFORE);
  const { code, json } = await importOf(AFTER);
  assert.equal(code, 1);
  assert.deepEqual(json.created, ['orders/Consumers/added']);
  assert.deepEqual(json.different.slice(1), [
    'orders/Consumers/changed exists with another target, maxPerSecond.',
    'orders/Consumers/other exists, and the file lacks it.',
    `${DLQ}/Consumers/changed exists, and the file lacks it.`,
  ]);
});

test('an import with --update makes consumers as in the file, and leaves those alone that it does not mention', async (t) => {
  const { importOf, exported, succeed } = await start(t);
  await importOf(BEFORE);
  const { code, json } = await importOf(AFTER, '--update');
  assert.equal(code, 0);
  assert.deepEqual(json.created, ['orders/Consumers/added']);
  assert.deepEqual(json.updated, ['orders', 'orders/Consumers/changed']);
  assert.deepEqual(json.deleted, ['orders/Consumers/other', `${DLQ}/Consumers/changed`]);
  const [{ Queues, Topics }] = (await exported()).UserConfig.Namespaces;
  assert.deepEqual(
    Queues[0].Consumers.map(({ Name }: { readonly Name: string }) => Name),
    ['added', 'changed', 'Same'],
  );
  assert.equal(Topics[0].Subscriptions[0].Consumers.length, 1);
  // An entity can begin to forward when the file takes its consumers.
  const forwards = { queues: { plain: {}, orders: { forwardTo: 'plain', consumers: [] } } };
  assert.deepEqual((await importOf(forwards, '--update')).json.refused, []);
  assert.equal(await succeed('consumer', 'list', 'orders', '--json'), '[]\n');
});

test('consumers and rules of entities that forward in a circle are created', async (t) => {
  const { importOf, succeed } = await start(t);
  const consumers = [{ name: 'c', subQueue: 'deadLetter', target: LAMBDA }];
  const s = { forwardTo: 'q', consumers, rules: { one: 'x = 1', two: 'x = 2' } };
  const circle = { queues: { q: { forwardTo: 't' } }, topics: { t: { subscriptions: { s } } } };
  const { code, stderr } = await importOf(circle);
  assert.equal(code, 0, stderr);
  const listed = JSON.parse(await succeed('consumer', 'list', '--json'));
  assert.deepEqual(
    listed.map(({ queue }: { readonly queue: string }) => queue),
    ['t/Subscriptions/s/$deadletterqueue'],
  );
  const rules = JSON.parse(await succeed('list', 't/subscriptions/s', '--json'));
  assert.equal(rules.length, 2);
});
