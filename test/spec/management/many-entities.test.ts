import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { copyEntity } from '../../support/copied-entities.ts';
import { engineClient, startBroker, TABLES } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

const MANY = 400;
/** Logs of which the messages are read at the same time, since a page of each takes megabytes of memory. */
const LOGS_AT_ONCE = 16;

/** Starts a namespace that has many queues, with names in front of, between and behind others. */
async function startFull(t: TestContext, queues: number) {
  const broker = await startBroker(t);
  const client = engineClient();
  t.after(() => client.destroy());
  expectStatus(await broker.createQueue('m'), 201);
  const names = Array.from({ length: queues }, (_, i) => `n${String(i).padStart(4, '0')}`);
  await copyEntity(client, broker.namespace, 'm', names, TABLES);
  return { broker, names };
}

/** What some work costs, as text to compare. */
async function costOf(broker: TestBroker, work: () => Promise<unknown>): Promise<string> {
  const { read, write, requests } = await broker.units(work);
  return `${read} read units, ${write} write units, ${requests} requests`;
}

function titlesOf(text: string): readonly string[] {
  return [...text.matchAll(/<entry.*?<title type="text">(.*?)</gs)].map(([, title = '']) => title);
}

test('creating a queue or a topic costs the same among ten and among hundreds of entities', async (t) => {
  const costs = [];
  for (const queues of [10, MANY]) {
    const { broker } = await startFull(t, queues);
    // The first creation after an upgrade counts what is there.
    expectStatus(await broker.createQueue('first'), 201);
    for (const kind of ['QueueDescription', 'TopicDescription']) {
      costs.push(
        await broker.units(async () => expectStatus(await broker.putEntity(kind, kind, {}), 201)),
      );
    }
  }
  t.diagnostic(JSON.stringify(costs));
  const [fewQueue, fewTopic, manyQueue, manyTopic] = costs;
  for (const [few, many] of [
    [fewQueue, manyQueue],
    [fewTopic, manyTopic],
  ]) {
    assert.equal(many?.read, few?.read);
    // Each tenth creation of a process adds to the count.
    assert.ok(Math.abs((many?.write ?? 0) - (few?.write ?? 0)) <= 1);
  }
});

test('creating a subscription or a rule costs the same beside ten and beside a hundred others', async (t) => {
  const broker = await startBroker(t);
  const subscribe = async (i: number) =>
    expectStatus(
      await broker.putEntity(`t/subscriptions/s${i}`, 'SubscriptionDescription', {}),
      201,
    );
  expectStatus(await broker.putEntity('t', 'TopicDescription', {}), 201);
  for (let i = 0; i < 10; i++) await subscribe(i);
  const few = await broker.units(() => subscribe(10));
  for (let i = 11; i < 100; i++) await subscribe(i);
  const many = await broker.units(() => subscribe(100));
  t.diagnostic(JSON.stringify([few, many]));
  assert.equal(many.read, few.read);
  // Each second creation of a process adds to the count.
  assert.ok(Math.abs(many.write - few.write) <= 1);
});

test('the first page of a list costs the same among a hundred and among hundreds of queues', async (t) => {
  const costs = [];
  for (const queues of [110, MANY]) {
    const { broker } = await startFull(t, queues);
    costs.push(
      await costOf(broker, async () => {
        const { text } = await broker.request('GET', '$Resources/Queues');
        assert.equal(titlesOf(text).length, 100);
      }),
    );
  }
  t.diagnostic(costs[1] ?? '');
  assert.equal(costs[1], costs[0]);
});

for (const isUpgraded of [false, true]) {
  const after = isUpgraded ? 'after an upgrade, once the sweep ran' : 'without a sweep';
  test(`listing topics costs the same among ten and among hundreds of queues, ${after}`, async (t) => {
    const costs = [];
    for (const queues of [10, MANY]) {
      const { broker } = await startFull(t, queues);
      for (const name of ['a', 'n0003-topic', 'z']) {
        expectStatus(await broker.putEntity(name, 'TopicDescription', {}), 201);
      }
      const list = async () => {
        const { text } = await broker.request('GET', '$Resources/Topics');
        assert.deepEqual(titlesOf(text), ['a', 'n0003-topic', 'z']);
      };
      if (isUpgraded) {
        await forgetTopicList(t, broker);
        await list();
        await broker.sweep();
      }
      costs.push(await costOf(broker, list));
      expectStatus(await broker.request('DELETE', 'a'), 200);
      const { text } = await broker.request('GET', '$Resources/Topics');
      assert.deepEqual(titlesOf(text), ['n0003-topic', 'z']);
    }
    t.diagnostic(costs[1] ?? '');
    assert.equal(costs[1], costs[0]);
  });
}

/** Removes what an earlier version does not store. */
async function forgetTopicList(t: TestContext, broker: TestBroker): Promise<void> {
  const items = new StoredItems(broker);
  t.after(() => items.close());
  await items.removeTopicList();
}

test('the pages of a list show every queue once, in order, also where queues come and go between them', async (t) => {
  const { broker, names } = await startFull(t, 250);
  const pages: string[] = [];
  let created = 0;
  for (let skip = 0; ; skip += 100) {
    const { text } = await broker.request('GET', `$Resources/Queues?$skip=${skip}&$top=100`);
    pages.push(...titlesOf(text));
    if (!text.includes('rel="next"')) break;
    // Before the page that was just shown.
    expectStatus(await broker.createQueue(`a${created++}`), 201);
  }
  assert.deepEqual(pages, ['m', ...names]);
});

test('a later page on its own begins where its number says, and a forgotten place is not used', async (t) => {
  const { broker, names } = await startFull(t, 250);
  const page = async (skip: number) => {
    const { text } = await broker.request('GET', `$Resources/Queues?$skip=${skip}&$top=10`);
    return titlesOf(text);
  };
  assert.deepEqual(await page(51), names.slice(50, 60));
  assert.deepEqual(await page(41), names.slice(40, 50));
  expectStatus(await broker.createQueue('a'), 201);
  // Both follow a page that was just read.
  assert.deepEqual(await page(51), names.slice(50, 60));
  broker.clock.advance({ minutes: 2 });
  assert.deepEqual(await page(51), names.slice(49, 59));
});

test('a page of a hundred used queues reads few of their logs at the same time', async (t) => {
  const client = engineClient();
  t.after(() => client.destroy());
  const running = { now: 0, most: 0 };
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== 'QueryCommand') return await next(args);
        running.most = Math.max(running.most, ++running.now);
        return await next(args).finally(() => running.now--);
      },
    { step: 'initialize', name: 'running' },
  );
  const broker = await startBroker(t, { client });
  for (let i = 0; i < 30; i++) {
    expectStatus(await broker.createQueue(`q${i}`), 201);
    expectStatus(await broker.send(`q${i}`, '1'), 201);
  }
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.equal(titlesOf(text).length, 30);
  assert.ok(running.most <= LOGS_AT_ONCE, `${running.most} at the same time`);
});
