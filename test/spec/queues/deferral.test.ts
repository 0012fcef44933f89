import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { expectStatus } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  EXPIRED,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const NOT_FOUND =
  'Failed to lock one or more specified messages. Either the message is already locked or does not exist.';

function requireNotFound(answer: Answer): void {
  assert.equal(answer.status, 404);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessageNotFound');
  assert.ok(answer.text.includes(NOT_FOUND), answer.text);
}

/** A queue in which all messages have been deferred. */
async function startDeferred(
  t: Parameters<typeof startQueue>[0],
  settings: Record<string, string>,
  ...sent: readonly string[]
) {
  const broker = await startQueue(t, { LockDuration: 'PT30S', ...settings }, ...sent);
  for (const _ of sent) await lockAndSettle(broker, 'defer');
  return broker;
}

test('#67 #B13 receives skip a deferred message and deliver later ones', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  await lockAndSettle(broker, 'defer');
  broker.clock.advance({ days: 1000 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['b']);
  const [shown] = await broker.peek('q');
  assert.deepEqual([shown?.body, shown?.broker.State], ['a', 'Deferred']);
});

test('#68 a deferred message is received by its sequence number, locked and completed', async (t) => {
  const broker = await startDeferred(t, {}, 'a');
  const [message] = await broker.receiveDeferred('q', [1]);
  assert.ok(message);
  const { State, SequenceNumber, DeliveryCount, LockedUntilUtc } = message.broker;
  assert.deepEqual([State, SequenceNumber, DeliveryCount], ['Deferred', 1, 2]);
  assert.equal(LockedUntilUtc, instant({ seconds: 30 }));
  requireNotFound(await broker.receiveDeferredRaw('q', [1]));
  await settleOne(broker, message, 'complete');
  assert.deepEqual(await broker.peek('q'), []);
  requireNotFound(await broker.receiveDeferredRaw('q', [1]));
});

test('#13 property changes of several deferrals add up on the message', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, [{ Body: 'a', UserProperties: { kept: 1, changed: 1 } }, 'b']);
  await lockAndSettle(broker, 'defer', { properties: { changed: 2 } });
  const [first] = await broker.receiveDeferred('q', [1]);
  assert.deepEqual(first?.properties, { kept: 1, changed: 2 });
  assert.ok(first);
  await settleOne(broker, first, 'defer', { properties: { third: 3 } });
  assert.deepEqual((await broker.peek('q'))[0]?.properties, { kept: 1, changed: 2, third: 3 });
});

test('a deferred message can be received by its sequence number in receive-and-delete mode', async (t) => {
  const broker = await startDeferred(t, {}, 'a', 'b');
  const [message] = await broker.receiveDeferred('q', [2], 'receiveAndDelete');
  assert.equal(message?.body, 'b');
  assert.equal(message.broker.LockToken, undefined);
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
});

test('#69 a deferred message that is abandoned stays deferred, with a DeliveryCount one higher', async (t) => {
  const broker = await startDeferred(t, {}, 'a');
  assert.equal((await broker.peek('q'))[0]?.broker.DeliveryCount, 1);
  const [message] = await broker.receiveDeferred('q', [1]);
  assert.ok(message);
  await settleOne(broker, message, 'abandon');
  const [shown] = await broker.peek('q');
  assert.deepEqual([shown?.broker.State, shown?.broker.DeliveryCount], ['Deferred', 2]);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await broker.receiveDeferred('q', [1]))[0]?.broker.DeliveryCount, 3);
});

test('#69 a deferred message whose lock expires or ends with an update of the queue stays deferred, with a DeliveryCount one higher', async (t) => {
  const broker = await startDeferred(t, {}, 'a');
  await broker.receiveDeferred('q', [1]);
  broker.clock.advance({ seconds: 30 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await broker.receiveDeferred('q', [1]))[0]?.broker.DeliveryCount, 3);
  expectStatus(await broker.updateQueue('q', {}), 200);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await broker.receiveDeferred('q', [1]))[0]?.broker.DeliveryCount, 4);
});

test('the lock on a deferred message can be renewed', async (t) => {
  const broker = await startDeferred(t, {}, 'a');
  const [message] = await broker.receiveDeferred('q', [1]);
  assert.ok(message);
  broker.clock.advance({ seconds: 20 });
  await broker.post('q', '$renew', { lockTokens: [message.broker.LockToken] }, 200);
  broker.clock.advance({ seconds: 20 });
  requireNotFound(await broker.receiveDeferredRaw('q', [1]));
  await settleOne(broker, message, 'complete');
});

test('#70 receiving by the number of a message that is active, locked, scheduled, dead-lettered or unknown answers MessageNotFound', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'locked', 'active');
  await lockAndSettle(broker, 'deadLetter');
  await lock(broker);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  const scheduled = await broker.schedule('q', [messageOf('scheduled', at)]);
  assert.deepEqual(scheduled, [4]);
  for (const number of [0, 1, 2, 3, 4, 5, 2 ** 40]) {
    requireNotFound(await broker.receiveDeferredRaw('q', [number]));
  }
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'active');
});

test('a receive by several sequence numbers delivers all messages or none', async (t) => {
  const broker = await startDeferred(t, {}, 'a', 'b', 'c');
  requireNotFound(await broker.receiveDeferredRaw('q', [1, 2, 4]));
  const all = await broker.receiveDeferred('q', [3, 1]);
  assert.deepEqual(bodies(all), ['c', 'a']);
  requireNotFound(await broker.receiveDeferredRaw('q', [2, 3]));
  requireNotFound(await broker.receiveDeferredRaw('q', [2, 3], 'receiveAndDelete'));
  await broker.settle(
    'q',
    all.map((message) => settlementOf(message, 'complete')),
  );
  assert.deepEqual(bodies(await broker.receiveDeferred('q', [2])), ['b']);
});

test('one call receives up to 100 deferred messages, and more are refused', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(
    broker,
    Array.from({ length: 101 }, (_, i) => `${i}`),
  );
  const held = await broker.peekLockMany('q', 101);
  await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'defer')),
  );
  const all = numbers(held);
  assert.equal((await broker.receiveDeferredRaw('q', all)).status, 400);
  const received = await broker.receiveDeferred('q', all.slice(1));
  assert.deepEqual(numbers(received), all.slice(1));
});

for (const [what, list] of [
  ['an empty list of sequence numbers', []],
  ['a list with a sequence number twice', [1, 1]],
] as const) {
  test(`${what} is refused`, async (t) => {
    const broker = await startDeferred(t, {}, 'a');
    assert.equal((await broker.receiveDeferredRaw('q', list)).status, 400);
  });
}

test('#71 a deferred message that is dead-lettered keeps its DeliveryCount, its sequence number and its reason', async (t) => {
  const broker = await startDeferred(t, {}, 'a');
  const [message] = await broker.receiveDeferred('q', [1]);
  assert.ok(message);
  await settleOne(broker, message, 'deadLetter', { deadLetterReason: 'no use' });
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(await deadLetters(broker), [['a', 'no use', undefined]]);
  const dead = await lock(broker, DEAD);
  assert.deepEqual([dead.broker.SequenceNumber, dead.broker.DeliveryCount], [1, 2]);
});

test('a deferred message is never dead-lettered for its DeliveryCount, as only a receive by its number delivers it', async (t) => {
  const broker = await startDeferred(t, { MaxDeliveryCount: '2' }, 'a');
  for (let count = 2; count < 6; count++) {
    const [message] = await broker.receiveDeferred('q', [1]);
    assert.equal(message?.broker.DeliveryCount, count);
    assert.ok(message);
    await settleOne(broker, message, 'abandon');
  }
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#B13 the message of the last allowed delivery can still be deferred', async (t) => {
  const broker = await startDeferred(t, { MaxDeliveryCount: '1' }, 'a');
  assert.deepEqual(await broker.peek(DEAD), []);
  const [message] = await broker.receiveDeferred('q', [1]);
  assert.equal(message?.body, 'a');
});

for (const [flag, expected] of [
  ['false', []],
  ['true', [['a', ...EXPIRED]]],
] as const) {
  test(`an expired deferred message is removed when a receiver asks for its number (dead-lettering on expiry: ${flag})`, async (t) => {
    const broker = await startQueue(t, { DeadLetteringOnMessageExpiration: flag });
    expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
    await lockAndSettle(broker, 'defer');
    broker.clock.advance({ seconds: 10 });
    assert.equal(await broker.peekLock('q'), undefined);
    await broker.sweep();
    assert.deepEqual(await broker.peek(DEAD), []);
    requireNotFound(await broker.receiveDeferredRaw('q', [1]));
    assert.deepEqual(await broker.peek('q'), []);
    assert.deepEqual(await deadLetters(broker), expected);
  });
}

test('a deferred message that expires under its lock can still be completed', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  await lockAndSettle(broker, 'defer');
  const [message] = await broker.receiveDeferred('q', [1]);
  broker.clock.advance({ seconds: 11 });
  assert.ok(message);
  await settleOne(broker, message, 'complete');
});

test('deferred messages count as active', async (t) => {
  const broker = await startDeferred(t, {}, 'a', 'b');
  expectStatus(await broker.send('q', 'c'), 201);
  const { active, total } = await broker.runtimeProperties('q');
  assert.deepEqual([active, total], [3, 3]);
});
