import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { createTopic } from '../../support/topic-entities.ts';
import {
  DEAD,
  instant,
  isoInstant,
  lock,
  lockAndSettle,
  messageOf,
  settleOne,
  startQueue,
} from '../queues/queue.ts';

const IDLE = { AutoDeleteOnIdle: 'PT5M' };
const MINUTES = 5;
const SWEEP_MINUTES = isMore() ? 1 : 3;

async function exists(broker: TestBroker): Promise<boolean> {
  const { status } = await broker.request('GET', 'q');
  assert.ok(status === 200 || status === 404, `${status}`);
  return status === 200;
}

/** Whether the queue still exists after these minutes, with a sweep every `SWEEP_MINUTES` of them. */
async function isThereAfter(broker: TestBroker, minutes: number): Promise<boolean> {
  for (let left = minutes; left > 0; left -= SWEEP_MINUTES) {
    broker.clock.advance({ minutes: Math.min(left, SWEEP_MINUTES) });
    await broker.sweep();
  }
  return await exists(broker);
}

/** Advances the clock by one millisecond less than five minutes: a queue used just now must still exist. */
async function requireKept(broker: TestBroker): Promise<void> {
  broker.clock.advance({ minutes: MINUTES, ms: -1 });
  await broker.sweep();
  assert.ok(await exists(broker), 'deleted too early');
  broker.clock.advance({ ms: 1 });
}

test('#142 #A18 #E1 a queue is deleted after its AutoDeleteOnIdle without use, and not before', async (t) => {
  const broker = await startQueue(t, IDLE);
  await requireKept(broker);
  await broker.sweep();
  assert.equal(await exists(broker), false);
  expectStatus(await broker.send('q', 'a'), 410);
  expectStatus(await broker.request('POST', 'q/messages/head?timeout=0'), 410);
});

/** The uses of a queue (semantics V5), each with its preparation. */
const USES: Record<string, (broker: TestBroker) => Promise<unknown>> = {
  'a send': (broker) => broker.send('q', 'x'),
  'a batch': (broker) => broker.sendBatch('q', [{ Body: 'x' }]),
  'a peek-lock': (broker) => broker.peekLock('q'),
  'a receive-and-delete': (broker) => broker.receiveAndDelete('q'),
  'a peek': (broker) => broker.peek('q'),
  'an update': (broker) => broker.updateQueue('q', { ...IDLE, UserMetadata: 'x' }),
  'a peek of its dead letters': (broker) => broker.peek(DEAD),
  'a receive of its dead letters': (broker) => broker.peekLock(DEAD),
};

for (const [what, use] of Object.entries(USES)) {
  test(`#A20 ${what} counts as use: the idle time restarts`, async (t) => {
    const broker = await startQueue(t, IDLE);
    for (let i = 0; i < 3; i++) {
      broker.clock.advance({ minutes: 4 });
      await broker.sweep();
      await use(broker);
    }
    await requireKept(broker);
    assert.equal(await isThereAfter(broker, MINUTES + 1), false);
  });
}

for (const [what, use] of [
  ['a renewal', (broker: TestBroker, held: Received) => broker.renew(held)],
  ['an abandon', (broker: TestBroker, held: Received) => broker.abandon(held)],
  ['a complete', (broker: TestBroker, held: Received) => broker.complete(held)],
  ['a defer', (broker: TestBroker, held: Received) => settleOne(broker, held, 'defer')],
] as const) {
  test(`#A20 ${what} counts as use, as any operation on messages does`, async (t) => {
    const broker = await startQueue(t, { LockDuration: 'PT5M', ...IDLE }, 'a');
    const held = await lock(broker);
    broker.clock.advance({ minutes: 4 });
    await use(broker, held);
    await requireKept(broker);
  });
}

test('#A20 a receive that finds nothing counts as use', async (t) => {
  const broker = await startQueue(t, IDLE);
  broker.clock.advance({ minutes: 4 });
  assert.equal(await broker.peekLock('q'), undefined);
  await requireKept(broker);
});

test('#A20 reading its description is not a use of a queue', async (t) => {
  const broker = await startQueue(t, IDLE);
  for (let i = 0; i < MINUTES; i++) {
    broker.clock.advance({ minutes: 1 });
    expectStatus(await broker.request('GET', 'q'), 200);
    expectStatus(await broker.request('GET', '$Resources/Queues'), 200);
  }
  await broker.sweep();
  assert.equal(await exists(broker), false);
});

test('#A20 a use of one queue is not a use of another', async (t) => {
  const broker = await startQueue(t, IDLE);
  expectStatus(await broker.createQueue('other', IDLE), 201);
  for (let i = 0; i < MINUTES; i++) {
    broker.clock.advance({ minutes: 1 });
    expectStatus(await broker.send('other', 'x'), 201);
  }
  await broker.sweep();
  assert.equal(await exists(broker), false);
  expectStatus(await broker.request('GET', 'other'), 200);
});

test('#A20 stored messages do not keep a queue from being deleted, nor do dead letters or deferred ones', async (t) => {
  const broker = await startQueue(t, IDLE, 'dead', 'deferred', 'active');
  await lockAndSettle(broker, 'deadLetter');
  await lockAndSettle(broker, 'defer');
  await requireKept(broker);
  assert.equal(await isThereAfter(broker, MINUTES + 1), false);
});

test('#142 #A20 a scheduled message keeps its queue until it is due', async (t) => {
  const broker = await startQueue(t, IDLE);
  await broker.schedule('q', [
    messageOf('a', { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) }),
  ]);
  assert.equal(await isThereAfter(broker, 59), true);
  broker.clock.advance({ seconds: 59 });
  await broker.sweep();
  assert.ok(await exists(broker));
  assert.equal(await isThereAfter(broker, 3 * MINUTES), false);
});

test('#A20 a cancelled scheduled message does not keep its queue', async (t) => {
  const broker = await startQueue(t, IDLE);
  const scheduled = await broker.schedule('q', [
    messageOf('a', { ScheduledEnqueueTimeUtc: instant({ seconds: 36_000 }) }),
  ]);
  assert.equal(await isThereAfter(broker, 2 * MINUTES), true);
  expectStatus(await broker.cancelScheduled('q', scheduled), 200);
  await requireKept(broker);
  assert.equal(await isThereAfter(broker, MINUTES + 1), false);
});

test('#143 #A21 a queue that forwards is never idle, and its description has an unlimited AutoDeleteOnIdle', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  // In the order of the service's elements.
  expectStatus(await broker.createQueue('q', { ForwardTo: 'target', ...IDLE }), 201);
  const { text } = await broker.request('GET', 'q');
  assert.match(text, /<AutoDeleteOnIdle>P10675199DT2H48M5\.4775807S</);
  broker.clock.advance({ days: 365 });
  await broker.sweep();
  assert.ok(await exists(broker));
});

test('#A19 by default, and with the largest AutoDeleteOnIdle, a queue is never deleted', async (t) => {
  const broker = await startQueue(t);
  const AutoDeleteOnIdle = 'P10675199DT2H48M5.4775807S';
  expectStatus(await broker.createQueue('largest', { AutoDeleteOnIdle }), 201);
  for (const name of ['q', 'largest']) {
    const { text } = await broker.request('GET', name);
    assert.match(text, /<AutoDeleteOnIdle>P10675199DT2H48M5\.4775807S</, name);
  }
  broker.clock.advance({ days: 20_000 });
  await broker.sweep();
  for (const name of ['q', 'largest']) expectStatus(await broker.request('GET', name), 200);
});

for (const [value, status] of [
  ['PT4M', 400],
  ['PT4M59.999S', 400],
  ['PT5M', 201],
] as const) {
  test(`#141 #A18 an AutoDeleteOnIdle of ${value}: ${status}`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('q', { AutoDeleteOnIdle: value }), status);
  });
}

test('#A18 #E1 updates set, raise and remove AutoDeleteOnIdle, and count as use', async (t) => {
  const broker = await startQueue(t);
  broker.clock.advance({ days: 1 });
  expectStatus(await broker.updateQueue('q', IDLE), 200);
  broker.clock.advance({ minutes: 4 });
  expectStatus(await broker.updateQueue('q', { AutoDeleteOnIdle: 'PT1H' }), 200);
  assert.equal(await isThereAfter(broker, 59), true);
  expectStatus(await broker.updateQueue('q'), 200);
  broker.clock.advance({ days: 365 });
  await broker.sweep();
  assert.ok(await exists(broker));
});

test('the sweep of one process does not delete a queue that another process uses', async (t) => {
  const broker = await startQueue(t, IDLE);
  const other = await startBroker(t, { beside: broker });
  for (const use of [
    () => other.peek('q'),
    () => other.send('q', 'x'),
    () => other.peekLock('q'),
  ]) {
    broker.clock.advance({ minutes: 2 });
    await use();
    broker.clock.advance({ minutes: 2, seconds: 30 });
    await use();
    await other.units(async () => {});
    broker.clock.advance({ minutes: MINUTES, ms: -1 });
    await broker.sweep();
    assert.ok(await exists(broker), 'deleted too early');
  }
});

test('a queue that was deleted when idle is empty when it is created again', async (t) => {
  const broker = await startQueue(t, IDLE, 'a', 'dead');
  await lockAndSettle(broker, 'deadLetter');
  assert.equal(await isThereAfter(broker, 2 * MINUTES), false);
  expectStatus(await broker.createQueue('q'), 201);
  assert.deepEqual([await broker.peek('q'), await broker.peek(DEAD)], [[], []]);
});

test('AutoDeleteOnIdle costs almost nothing per message', async (t) => {
  const broker = await startQueue(t, IDLE);
  expectStatus(await broker.createQueue('plain'), 201);
  const pass = async (queue: string) => {
    for (let i = 0; i < 20; i++) {
      expectStatus(await broker.send(queue, `${i}`), 201);
      assert.equal(await broker.complete(await lock(broker, queue)), 200);
    }
  };
  for (const queue of ['q', 'plain']) await pass(queue);
  broker.clock.advance({ minutes: 2 });
  const { write: plain } = await broker.units(() => pass('plain'));
  const { write } = await broker.units(() => pass('q'));
  t.diagnostic(`${write} write units beside ${plain}`);
  assert.ok(write - plain <= 2, `${write} write units, and ${plain} without`);
});

test('the deletion of old messages counts as use as well', async (t) => {
  const broker = await startQueue(t, IDLE, 'a');
  broker.clock.advance({ minutes: 4 });
  const range = { maxMessages: 1, enqueuedBefore: isoInstant({ seconds: 1 }) };
  assert.equal(await broker.deleteMessages('q', range), 1);
  await requireKept(broker);
});

test('#A20 a send of a duplicate is a use of its queue or topic', async (t) => {
  const broker = await startBroker(t);
  const detecting = { RequiresDuplicateDetection: 'true', ...IDLE };
  expectStatus(await broker.createQueue('q', detecting), 201);
  await createTopic(broker, 't', detecting);
  const send = async () => {
    for (const path of ['q', 't'])
      expectStatus(await broker.send(path, 'a', { MessageId: 'a' }), 201);
  };
  await send();
  broker.clock.advance({ minutes: 4 });
  await send();
  await requireKept(broker);
  expectStatus(await broker.request('GET', 't'), 200);
});
