import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  EXPIRED,
  having,
  lock,
  lockAndSettle,
  sendTogether,
  settleOne,
  startQueue,
  withBroker,
} from './queue.ts';

const KEPT = { DeadLetteringOnMessageExpiration: 'true' };

/** A queue whose only message was locked at once and expires two seconds later: now it is one past. */
async function startHoldingExpired(t: TestContext, settings: Record<string, string> = {}) {
  const broker = await startQueue(t, { LockDuration: 'PT30S', ...settings });
  expectStatus(await broker.send('q', 'a', { TimeToLive: 2 }), 201);
  const message = await lock(broker);
  broker.clock.advance({ seconds: 3 });
  return { broker, message };
}

async function requireEmpty(broker: TestBroker): Promise<void> {
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await broker.peek('q'), []);
}

for (const [what, settings] of [
  ['dropped', {}],
  ['dead-lettered', KEPT],
] as const) {
  test(`#45 #A6 #A7 #A16 where expired messages are ${what}, one that expired under a lock is completed like any`, async (t) => {
    const { broker, message } = await startHoldingExpired(t, settings);
    assert.equal(await broker.complete(message), 200);
    await requireEmpty(broker);
    assert.deepEqual(await broker.peek(DEAD), []);
  });
}

test('#46 #A6 abandoned after its expiry, a message is not delivered again', async (t) => {
  const { broker, message } = await startHoldingExpired(t);
  assert.equal(await broker.abandon(message), 200);
  await requireEmpty(broker);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#46 #A6 #A16 abandoned after its expiry, a message is in the dead-letter queue at once', async (t) => {
  const { broker, message } = await startHoldingExpired(t, KEPT);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal(await broker.abandon(message), 200);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
  await requireEmpty(broker);
});

test('#47 #A6 a message whose lock runs out after its expiry is not delivered again', async (t) => {
  const { broker } = await startHoldingExpired(t);
  broker.clock.advance({ seconds: 27 });
  await requireEmpty(broker);
});

test('#47 #A16 a message whose lock runs out after its expiry goes to the dead-letter queue', async (t) => {
  const { broker } = await startHoldingExpired(t, KEPT);
  broker.clock.advance({ seconds: 27, ms: -1 });
  await broker.sweep();
  assert.deepEqual(await broker.peek(DEAD), []);
  broker.clock.advance({ ms: 1 });
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('#A7 the holder of an expired message may keep it by renewing its lock', async (t) => {
  const { broker, message } = await startHoldingExpired(t);
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ seconds: 20 });
    expectStatus(await broker.renew(message), 200);
  }
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.complete(message), 200);
});

test('#A7 the holder of an expired message may dead-letter it for a reason of its own', async (t) => {
  const { broker, message } = await startHoldingExpired(t, KEPT);
  await settleOne(broker, message, 'deadLetter', { deadLetterReason: 'TooOld' });
  assert.deepEqual(await deadLetters(broker), [['a', 'TooOld', undefined]]);
});

test('#A6 a change of the queue ends the lock, and then expiry takes the message at once', async (t) => {
  const { broker, message } = await startHoldingExpired(t, KEPT);
  expectStatus(await broker.updateQueue('q', KEPT), 200);
  assert.equal(await broker.complete(message), 404);
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('#46 abandoned after its expiry with changed properties, a message is dead-lettered with them', async (t) => {
  const { broker, message } = await startHoldingExpired(t, KEPT);
  await settleOne(broker, message, 'abandon', { properties: { tries: 1 } });
  await requireEmpty(broker);
  const [dead] = await broker.peek(DEAD);
  assert.deepEqual([dead?.body, dead?.properties['tries']], ['a', 1]);
  assert.equal(dead?.properties['DeadLetterReason'], EXPIRED[0]);
});

test('#46 of a batch only the one that is abandoned too late goes', async (t) => {
  const broker = await startQueue(t, KEPT);
  await sendTogether(broker, [
    withBroker('a', { TimeToLive: 2 }),
    withBroker('b', { TimeToLive: 2 }),
    'c',
  ]);
  const [a, b, c] = await broker.peekLockMany('q', 3);
  assert.ok(a && b && c);
  broker.clock.advance({ seconds: 3 });
  await broker.settle('q', [having(a, 'abandon'), having(c, 'abandon')]);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 3)), ['c']);
  await settleOne(broker, b, 'complete');
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('a message that expires while it waits for the end of a delay is not delivered again', async (t) => {
  const broker = await startQueue(t, KEPT);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 60 }), 201);
  await lockAndSettle(broker, 'abandon', { delaySeconds: 60 });
  broker.clock.advance({ seconds: 60 });
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('where deliveries and time are both over, the reason is MaxDeliveryCountExceeded, and nothing is dropped', async (t) => {
  const { broker } = await startHoldingExpired(t, { MaxDeliveryCount: '1' });
  broker.clock.advance({ seconds: 27 });
  await requireEmpty(broker);
  const [dead] = await broker.peek(DEAD);
  assert.equal(dead?.properties['DeadLetterReason'], 'MaxDeliveryCountExceeded');
});
