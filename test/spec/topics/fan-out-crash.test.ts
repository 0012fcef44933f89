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
/** A send to so many subscriptions writes down what it is about to do, and does it in two steps. */
const STEPS = 2;

interface Scene {
  readonly broker: TestBroker;
  readonly cut: CuttingClient;
}

/** A topic with more subscriptions than a transaction holds, and a process that can die. */
async function start(t: TestContext): Promise<Scene> {
  const cut = cuttingClient();
  t.after(() => cut.client.destroy());
  const broker = await startBroker(t, { client: cut.client, limits: FEW_ITEMS });
  await createTopic(broker);
  await createSubscriptions(broker, PATHS);
  return { broker, cut };
}

/** Sends while the process dies before the step after so many. */
async function sendAndDie(
  { broker, cut }: Scene,
  transactions: number,
  body: string,
): Promise<number> {
  cut.dieAtTransactionAfter(transactions);
  const { status } = await broker.send('t', body);
  assert.equal(cut.transactions, transactions, 'it died where it was to die');
  cut.revive();
  return status;
}

/** How many subscriptions show how many messages, without taking any. */
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

/** What a send was about to do, and what its subscriptions shared, is gone in the end. */
async function requireNothingLeft(t: TestContext, broker: TestBroker): Promise<void> {
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await broker.units(async () => {});
  assert.deepEqual(await items.ofEntity(await items.idOf('t')), { bodies: 0, all: 1 });
}

for (const done of [0, 1]) {
  test(`a send cut off after ${done} of ${STEPS} steps is finished by the sweep, once for each subscription`, async (t) => {
    const scene = await start(t);
    const { broker } = scene;
    const body = randomBytes(20_000).toString('base64');
    assert.ok((await sendAndDie(scene, done, body)) >= 500);
    const before = await shown(broker);
    assert.ok((before[0] ?? 0) > 0, 'some have nothing yet');
    broker.clock.advance({ ms: 59_999 });
    await broker.sweep();
    assert.deepEqual(await shown(broker), before, 'a send that may be under way is left alone');
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

test('what was received, settled and sent meanwhile is untouched when a send is finished', async (t) => {
  const scene = await start(t);
  const { broker } = scene;
  await sendAndDie(scene, 1, 'cut off');
  const had: string[] = [];
  await eachOf(PATHS, async (path) => {
    if ((await drainBodies(broker, path)).length > 0) had.push(path);
  });
  assert.ok(had.length > 0 && had.length < COUNT, `${had.length} had it`);
  expectStatus(await broker.send('t', 'later'), 201);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  await eachOf(PATHS, async (path) => {
    const expected = had.includes(path) ? ['later'] : ['cut off', 'later'];
    assert.deepEqual(await drainBodies(broker, path), expected, path);
  });
});

test('two sweeps at once finish a send once', async (t) => {
  const scene = await start(t);
  const { broker } = scene;
  const twin = await startBroker(t, { beside: broker, limits: FEW_ITEMS });
  await sendAndDie(scene, 1, 'x');
  broker.clock.advance({ minutes: 1 });
  await Promise.all([broker.sweep(), twin.sweep()]);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  await requireOnce(broker, PATHS, 'x');
});

test('a send that died before it wrote anything left nothing, and may be repeated', async (t) => {
  const { broker, cut } = await start(t);
  cut.dieAfter(0);
  assert.ok((await broker.send('t', 'x')).status >= 500);
  cut.revive();
  broker.clock.advance({ minutes: 5 });
  await broker.sweep();
  assert.deepEqual(await shown(broker), { 0: COUNT });
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await shown(broker), { 1: COUNT });
});

test('of a send that is finished by the sweep, deleted subscriptions get nothing and hinder nobody', async (t) => {
  const scene = await start(t);
  const { broker } = scene;
  await sendAndDie(scene, 1, 'x');
  const [first = '', ...others] = PATHS;
  expectStatus(await broker.request('DELETE', first), 200);
  await createSubscription(broker, first);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, first), []);
  await requireOnce(broker, others, 'x');
});

/** Schedules a message, and dies on its way to the subscriptions. */
async function scheduleAndDie({ broker, cut }: Scene): Promise<void> {
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };
  expectStatus(await broker.send('t', 'x', at), 201);
  broker.clock.advance({ seconds: 10 });
  cut.dieAfter(2);
  const [first = ''] = PATHS;
  const answer = await broker.request('DELETE', `${first}/messages/head?timeout=0`);
  assert.ok(answer.status >= 500, `${answer.status}`);
  assert.equal(cut.transactions, 2);
  cut.revive();
}

test('a scheduled message whose way to the subscriptions was cut off comes to each of them once', async (t) => {
  const scene = await start(t);
  const { broker } = scene;
  await scheduleAndDie(scene);
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
  await requireOnce(broker, PATHS, 'x');
});

test('what was cut off is finished though the sweep reads of it in several pages', async (t) => {
  const scene = await start(t);
  const { broker } = scene;
  await scheduleAndDie(scene);
  const client = pagingClient();
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client, limits: FEW_ITEMS });
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ minutes: 1 });
    await sweeper.sweep();
  }
  await requireOnce(broker, PATHS, 'x');
});
