import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { FEW_ITEMS, MORE_THAN_A_TRANSACTION } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createSubscriptions,
  createTopic,
  drainBodies,
  eachOf,
  subscription,
} from '../../support/topic-entities.ts';
import { type CuttingClient, cuttingClient, pagingClient } from '../../support/topic-faults.ts';
import { TopicItems } from '../../support/topic-items.ts';
import { instant } from '../queues/queue.ts';

const COUNT = MORE_THAN_A_TRANSACTION;
const PATHS = Array.from({ length: COUNT }, (_, i) => subscription(`s${i}`));
/** A send to this many subscriptions stores a fan-out intent, and carries it out in two steps. */
const STEPS = 2;

interface Fixture {
  readonly broker: TestBroker;
  readonly cut: CuttingClient;
}

/** A topic with more subscriptions than a transaction holds, and a process that can die. */
async function start(t: TestContext): Promise<Fixture> {
  const cut = cuttingClient();
  t.after(() => cut.client.destroy());
  const broker = await startBroker(t, { client: cut.client, limits: FEW_ITEMS });
  await createTopic(broker);
  await createSubscriptions(broker, PATHS);
  return { broker, cut };
}

/** Sends, and the process dies after this many transactions. */
async function sendAndDie(
  { broker, cut }: Fixture,
  transactions: number,
  body: string,
): Promise<number> {
  cut.crashAtTransactionAfter(transactions);
  const { status } = await broker.send('t', body);
  assert.equal(cut.transactions, transactions, 'the process died at the intended step');
  cut.restart();
  return status;
}

/** Peeks; returns the number of subscriptions for each number of messages. */
async function shown(broker: TestBroker): Promise<Readonly<Record<number, number>>> {
  const found: Record<number, number> = {};
  await eachOf(PATHS, async (path) => {
    const { length } = await broker.peek(path);
    found[length] = (found[length] ?? 0) + 1;
  });
  return found;
}

async function requireOnce(
  broker: TestBroker,
  paths: readonly string[],
  body: string,
): Promise<void> {
  await eachOf(paths, async (path) =>
    assert.deepEqual(await drainBodies(broker, path), [body], path),
  );
}

/** Requires that the fan-out intent of a send and the bodies that its subscriptions shared are deleted. */
async function requireNothingLeft(t: TestContext, broker: TestBroker): Promise<void> {
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await broker.units(async () => {});
  assert.deepEqual(await items.ofEntity(await items.idOf('t')), { bodies: 0, all: 1 });
}

for (const done of [0, 1]) {
  test(`the sweep finishes a send that died after ${done} of ${STEPS} steps, once for each subscription`, async (t) => {
    const fixture = await start(t);
    const { broker } = fixture;
    const body = randomBytes(20_000).toString('base64');
    assert.ok((await sendAndDie(fixture, done, body)) >= 500);
    const before = await shown(broker);
    assert.ok((before[0] ?? 0) > 0, 'some subscriptions have no message yet');
    broker.clock.advance({ ms: 59_999 });
    await broker.sweep();
    assert.deepEqual(await shown(broker), before, 'a send that may be under way is not finished');
    broker.clock.advance({ ms: 1 });
    await broker.sweep();
    for (let i = 0; i < 3; i++) {
      broker.clock.advance({ minutes: 1 });
      await broker.sweep();
    }
    await requireOnce(broker, PATHS, body);
    await requireNothingLeft(t, broker);
  });
}

test('finishing a send changes no message that was received, settled or sent meanwhile', async (t) => {
  const fixture = await start(t);
  const { broker } = fixture;
  await sendAndDie(fixture, 1, 'cut off');
  const had: string[] = [];
  await eachOf(PATHS, async (path) => {
    if ((await drainBodies(broker, path)).length > 0) had.push(path);
  });
  assert.ok(had.length > 0 && had.length < COUNT, `${had.length} subscriptions had it`);
  expectStatus(await broker.send('t', 'later'), 201);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  await eachOf(PATHS, async (path) => {
    const expected = had.includes(path) ? ['later'] : ['cut off', 'later'];
    assert.deepEqual(await drainBodies(broker, path), expected, path);
  });
});

test('two concurrent sweeps finish a send once', async (t) => {
  const fixture = await start(t);
  const { broker } = fixture;
  const twin = await startBroker(t, { beside: broker, limits: FEW_ITEMS });
  await sendAndDie(fixture, 1, 'x');
  broker.clock.advance({ minutes: 1 });
  await Promise.all([broker.sweep(), twin.sweep()]);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  await requireOnce(broker, PATHS, 'x');
});

test('a send that died before its first write stored nothing, and may be repeated', async (t) => {
  const { broker, cut } = await start(t);
  cut.crashAfter(0);
  assert.ok((await broker.send('t', 'x')).status >= 500);
  cut.restart();
  broker.clock.advance({ minutes: 5 });
  await broker.sweep();
  assert.deepEqual(await shown(broker), { 0: COUNT });
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await shown(broker), { 1: COUNT });
});

test('a deleted subscription neither gets a send that the sweep finishes nor keeps it from the others', async (t) => {
  const fixture = await start(t);
  const { broker } = fixture;
  await sendAndDie(fixture, 1, 'x');
  const [first = '', ...others] = PATHS;
  expectStatus(await broker.request('DELETE', first), 200);
  await createSubscription(broker, first);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, first), []);
  await requireOnce(broker, others, 'x');
});

/** Schedules a message; the process dies while it copies the due message to the subscriptions. */
async function scheduleAndDie({ broker, cut }: Fixture): Promise<void> {
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };
  expectStatus(await broker.send('t', 'x', at), 201);
  broker.clock.advance({ seconds: 10 });
  cut.crashAfter(2);
  const [first = ''] = PATHS;
  const answer = await broker.request('DELETE', `${first}/messages/head?timeout=0`);
  assert.ok(answer.status >= 500, `${answer.status}`);
  assert.equal(cut.transactions, 2);
  cut.restart();
}

test('a scheduled message whose fan-out was interrupted reaches each subscription once', async (t) => {
  const fixture = await start(t);
  const { broker } = fixture;
  await scheduleAndDie(fixture);
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
  await requireOnce(broker, PATHS, 'x');
});

test('the sweep finishes an interrupted fan-out although its queries return several pages', async (t) => {
  const fixture = await start(t);
  const { broker } = fixture;
  await scheduleAndDie(fixture);
  const client = pagingClient();
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client, limits: FEW_ITEMS });
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ minutes: 1 });
    await sweeper.sweep();
  }
  await requireOnce(broker, PATHS, 'x');
});
