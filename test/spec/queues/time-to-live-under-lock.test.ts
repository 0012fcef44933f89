import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  EXPIRED,
  lock,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const DEAD_LETTER = { DeadLetteringOnMessageExpiration: 'true' };

/** Starts a queue whose only message is locked and expired one second ago. */
async function startWithLockedExpired(t: TestContext, settings: Record<string, string> = {}) {
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
  ['dead-lettered', DEAD_LETTER],
] as const) {
  test(`#45 #A6 #A7 #A16 a message that expired under a lock can be completed in a queue whose expired messages are ${what}`, async (t) => {
    const { broker, message } = await startWithLockedExpired(t, settings);
    assert.equal(await broker.complete(message), 200);
    await requireEmpty(broker);
    assert.deepEqual(await broker.peek(DEAD), []);
  });
}

test('#46 #A6 a message that is abandoned after its expiry is not redelivered', async (t) => {
  const { broker, message } = await startWithLockedExpired(t);
  assert.equal(await broker.abandon(message), 200);
  await requireEmpty(broker);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#46 #A6 #A16 a message that is abandoned after its expiry is dead-lettered at once', async (t) => {
  const { broker, message } = await startWithLockedExpired(t, DEAD_LETTER);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal(await broker.abandon(message), 200);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
  await requireEmpty(broker);
});

test('#47 #A6 a message whose lock ends after its expiry is not redelivered', async (t) => {
  const { broker } = await startWithLockedExpired(t);
  broker.clock.advance({ seconds: 27 });
  await requireEmpty(broker);
});

test('#47 #A16 a message whose lock ends after its expiry is dead-lettered', async (t) => {
  const { broker } = await startWithLockedExpired(t, DEAD_LETTER);
  broker.clock.advance({ seconds: 27, ms: -1 });
  await broker.sweep();
  assert.deepEqual(await broker.peek(DEAD), []);
  broker.clock.advance({ ms: 1 });
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('#A7 the holder of an expired message can renew its lock and complete it', async (t) => {
  const { broker, message } = await startWithLockedExpired(t);
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ seconds: 20 });
    expectStatus(await broker.renew(message), 200);
  }
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.complete(message), 200);
});

test('#A7 the holder of an expired message can dead-letter it with another reason', async (t) => {
  const { broker, message } = await startWithLockedExpired(t, DEAD_LETTER);
  await settleOne(broker, message, 'deadLetter', { deadLetterReason: 'TooOld' });
  assert.deepEqual(await deadLetters(broker), [['a', 'TooOld', undefined]]);
});

test('#A6 an update of the queue ends the lock on an expired message, which is then dead-lettered', async (t) => {
  const { broker, message } = await startWithLockedExpired(t, DEAD_LETTER);
  expectStatus(await broker.updateQueue('q', DEAD_LETTER), 200);
  assert.equal(await broker.complete(message), 404);
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('#46 a message that is abandoned after its expiry with changed properties is dead-lettered with them', async (t) => {
  const { broker, message } = await startWithLockedExpired(t, DEAD_LETTER);
  await settleOne(broker, message, 'abandon', { properties: { tries: 1 } });
  await requireEmpty(broker);
  const [dead] = await broker.peek(DEAD);
  assert.deepEqual([dead?.body, dead?.properties['tries']], ['a', 1]);
  assert.equal(dead?.properties['DeadLetterReason'], EXPIRED[0]);
});

test('#46 only that message of a batch is dead-lettered which is abandoned after its expiry', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  await sendTogether(broker, [
    messageOf('a', { TimeToLive: 2 }),
    messageOf('b', { TimeToLive: 2 }),
    'c',
  ]);
  const [a, b, c] = await broker.peekLockMany('q', 3);
  assert.ok(a && b && c);
  broker.clock.advance({ seconds: 3 });
  await broker.settle('q', [settlementOf(a, 'abandon'), settlementOf(c, 'abandon')]);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 3)), ['c']);
  await settleOne(broker, b, 'complete');
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('a message that expires during the delay of its abandon is not redelivered', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 60 }), 201);
  await lockAndSettle(broker, 'abandon', { delaySeconds: 60 });
  broker.clock.advance({ seconds: 60 });
  await requireEmpty(broker);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});

test('a message that is expired and has used its last delivery is dead-lettered with MaxDeliveryCountExceeded, not dropped', async (t) => {
  const { broker } = await startWithLockedExpired(t, { MaxDeliveryCount: '1' });
  broker.clock.advance({ seconds: 27 });
  await requireEmpty(broker);
  const [dead] = await broker.peek(DEAD);
  assert.equal(dead?.properties['DeadLetterReason'], 'MaxDeliveryCountExceeded');
});
