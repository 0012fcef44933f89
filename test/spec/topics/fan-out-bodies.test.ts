import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  deadLettersOf,
  drainBodies,
  EVERYTHING,
  set,
  subscription,
} from '../../support/topic-entities.ts';
import { TopicItems } from '../../support/topic-items.ts';
import { lockAndSettle, settleOne } from '../queues/queue.ts';

const NAMES = ['a', 'b', 'c'];
/** Too large for a block, and not compressible. */
const LARGE = randomBytes(45_000).toString('base64');

/** A topic with three subscriptions that get every message; `bodies` counts its stored body items. */
async function start(t: TestContext) {
  const broker = await startBroker(t);
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await createTopic(broker);
  for (const name of NAMES) await createSubscription(broker, subscription(name));
  const id = await items.idOf('t');
  const bodies = async () => {
    await settled(broker);
    return (await items.ofEntity(id)).bodies;
  };
  return { broker, items, id, bodies };
}

/** Waits for the work that the broker does after its answers. */
const settled = (broker: TestBroker) => broker.units(async () => {});

/** Sweeps five times within an hour: a later sweep checks again what an earlier one deleted. */
async function sweepForAnHour(broker: TestBroker): Promise<void> {
  for (let i = 0; i < 5; i++) {
    broker.clock.advance({ minutes: 12 });
    await broker.sweep();
  }
}

async function send(broker: TestBroker, ...sent: readonly string[]): Promise<void> {
  const batch = sent.map((Body) => ({ Body }));
  expectStatus(await broker.sendBatch('t', batch), 201);
}

test('a large body is stored once for all subscriptions, and deleted when the last one completes it', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, LARGE);
  const stored = await bodies();
  assert.ok(stored > 0 && stored <= 2, `${stored} items: the body and its references`);
  for (const [done, name] of NAMES.entries()) {
    assert.equal(await bodies(), stored, `${done} of three have completed it`);
    assert.deepEqual(await drainBodies(broker, subscription(name)), [LARGE]);
  }
  assert.equal(await bodies(), 0);
});

test('a small body is stored in each subscription’s block and needs no item of its own', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, 'small');
  assert.equal(await bodies(), 0);
  for (const name of NAMES) {
    assert.deepEqual(await drainBodies(broker, subscription(name)), ['small']);
  }
});

test('a shared batch is kept until each subscription has settled each message', async (t) => {
  const { broker, bodies } = await start(t);
  const sent = Array.from({ length: 40 }, (_, i) =>
    `${i}`.padEnd(300, randomBytes(150).toString('hex')),
  );
  await send(broker, ...sent);
  for (const name of NAMES) {
    assert.ok((await bodies()) > 0);
    const held = await broker.peekLockMany(subscription(name), 100);
    assert.deepEqual(
      held.map(({ body }) => body),
      sent,
    );
    for (const part of [held.slice(0, 7), held.slice(7, 39)]) {
      const settlements = part.map(({ broker: { LockToken } }) => ({
        lockToken: LockToken,
        outcome: 'complete' as const,
      }));
      await broker.settle(subscription(name), settlements);
    }
    assert.ok((await bodies()) > 0, 'one message is left');
    const last = held[39];
    assert.ok(last);
    await settleOne(broker, last, 'complete', {}, subscription(name));
  }
  assert.equal(await bodies(), 0);
});

test('a shared body outlives dead-lettering, deferral and abandoning with changes, and is deleted with its last message', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, LARGE);
  const [a, b, c] = [subscription('a'), subscription('b'), subscription('c')] as const;
  await lockAndSettle(broker, 'deadLetter', { deadLetterReason: 'bad' }, a);
  const deferred = await lockAndSettle(broker, 'defer', { properties: { x: 1 } }, b);
  await lockAndSettle(broker, 'abandon', { properties: { y: 2 } }, c);
  assert.deepEqual(await drainBodies(broker, c), [LARGE]);
  assert.ok((await bodies()) > 0);
  assert.deepEqual(await drainBodies(broker, deadLettersOf(a)), [LARGE]);
  assert.ok((await bodies()) > 0);
  const [found] = await broker.receiveDeferred(
    b,
    [deferred.broker.SequenceNumber],
    'receiveAndDelete',
  );
  assert.equal(found?.body, LARGE);
  assert.equal(await bodies(), 0);
});

test('a shared body is deleted when its message has expired in every subscription', async (t) => {
  const { broker, bodies } = await start(t);
  expectStatus(await broker.send('t', LARGE, { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  for (const name of NAMES) assert.deepEqual(await drainBodies(broker, subscription(name)), []);
  assert.equal(await bodies(), 0);
});

test('a deleted subscription releases its reference to a shared body, and the others keep the body', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, LARGE, LARGE);
  expectStatus(await broker.request('DELETE', subscription('b')), 200);
  await sweepForAnHour(broker);
  for (const name of ['a', 'c']) {
    assert.ok((await bodies()) > 0);
    assert.deepEqual(await drainBodies(broker, subscription(name)), [LARGE, LARGE]);
  }
  assert.equal(await bodies(), 0);
});

test('a purged subscription releases its reference to a shared body, and the others keep the body', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, LARGE);
  await lockAndSettle(broker, 'deadLetter', {}, subscription('a'));
  await broker.purge(deadLettersOf(subscription('a')));
  await broker.purge(subscription('b'));
  await sweepForAnHour(broker);
  assert.ok((await bodies()) > 0);
  assert.deepEqual(await drainBodies(broker, subscription('c')), [LARGE]);
  assert.equal(await bodies(), 0);
});

test('shared bodies are deleted when the last subscription is deleted or purged', async (t) => {
  const { broker, bodies } = await start(t);
  await send(broker, LARGE, LARGE);
  for (const name of ['a', 'b']) await broker.purge(subscription(name));
  expectStatus(await broker.request('DELETE', subscription('c')), 200);
  await sweepForAnHour(broker);
  assert.equal(await bodies(), 0);
});

/** Adds two queues that get the topic's messages through forwarding subscriptions. */
async function startForwarding(t: TestContext) {
  const started = await start(t);
  const { broker } = started;
  for (const name of ['q1', 'q2']) {
    expectStatus(await broker.createQueue(name), 201);
    await createSubscription(broker, subscription(`to-${name}`), { ForwardTo: name });
  }
  return started;
}

test('bodies that queues get through a topic are complete, and are deleted once received', async (t) => {
  const { broker, items, bodies } = await startForwarding(t);
  await send(broker, LARGE);
  for (const path of ['q1', ...NAMES.map((name) => subscription(name)), 'q2']) {
    assert.deepEqual(await drainBodies(broker, path), [LARGE]);
  }
  assert.equal(await bodies(), 0);
  for (const path of ['q1', 'q2']) {
    assert.equal((await items.ofEntity(await items.idOf(path))).bodies, 0);
  }
});

for (const [what, settings, rule] of [
  ['changes its copies', {}, { filter: EVERYTHING, action: set('SET x = 1') }],
  ['forwards its copies', { ForwardTo: 'q' }, { filter: EVERYTHING }],
] as const) {
  test(`the other subscriptions share one body although the first subscription ${what}`, async (t) => {
    const { broker, items, bodies } = await start(t);
    expectStatus(await broker.createQueue('q'), 201);
    await createSubscription(broker, subscription('0'), settings, rule);
    await send(broker, LARGE);
    assert.equal(await bodies(), 2);
    for (const name of NAMES) {
      const id = await items.idOf(subscription(name));
      assert.equal((await items.ofEntity(id)).bodies, 0, `${name} has no body of its own`);
    }
  });
}

test('#160 messages that were forwarded to queues survive the deletion of their topic', async (t) => {
  const { broker, bodies } = await startForwarding(t);
  await send(broker, LARGE, 'small');
  expectStatus(await broker.request('DELETE', 't'), 200);
  await sweepForAnHour(broker);
  for (const path of ['q1', 'q2']) {
    assert.deepEqual(await drainBodies(broker, path), [LARGE, 'small']);
  }
  assert.equal(await bodies(), 0);
});

test('#160 messages that were forwarded to subscriptions survive the deletion of their queue', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.createQueue('source', { ForwardTo: 't' }), 201);
  expectStatus(await broker.sendBatch('source', [{ Body: LARGE }, { Body: 'small' }]), 201);
  expectStatus(await broker.request('DELETE', 'source'), 200);
  await sweepForAnHour(broker);
  for (const name of NAMES) {
    assert.deepEqual(await drainBodies(broker, subscription(name)), [LARGE, 'small']);
  }
});

test('messages that were forwarded to subscriptions survive a purge of their queue', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.createQueue('source', { ForwardTo: 't' }), 201);
  expectStatus(await broker.send('source', LARGE), 201);
  await broker.purge('source');
  await sweepForAnHour(broker);
  for (const name of NAMES)
    assert.deepEqual(await drainBodies(broker, subscription(name)), [LARGE]);
});

test('the daily search for orphans keeps a shared body as long as a message refers to it', async (t) => {
  const { broker } = await startForwarding(t);
  expectStatus(await broker.createQueue('source', { ForwardTo: 't' }), 201);
  await send(broker, LARGE);
  expectStatus(await broker.send('source', LARGE), 201);
  for (let day = 0; day < 3; day++) {
    broker.clock.advance({ days: 1 });
    await broker.sweep();
  }
  for (const path of ['q1', 'q2', ...NAMES.map((name) => subscription(name))]) {
    assert.equal((await drainBodies(broker, path)).length, 2, path);
  }
});
