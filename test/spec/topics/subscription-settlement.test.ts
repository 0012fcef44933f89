import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createSubscription,
  createTopic,
  deadLettersOf,
  drain,
  drainBodies,
  reasons,
  subscription,
} from '../../support/topic-entities.ts';
import { bodies, EXPIRED, lock, lockAndSettle, numbers, settleOne } from '../queues/queue.ts';

const S = subscription('s');
const OTHER = subscription('other');
const DEAD = deadLettersOf(S);

/** A topic with the subscriptions `s`, and `other` as the control; both get the messages. */
async function start(
  t: TestContext,
  settings: Record<string, string> = {},
  ...sent: readonly string[]
): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, S, settings);
  await createSubscription(broker, OTHER);
  for (const body of sent) expectStatus(await broker.send('t', body), 201);
  return broker;
}

test('a message of a subscription is locked, renewed, completed and deleted', async (t) => {
  const broker = await start(t, { LockDuration: 'PT30S' }, 'x');
  const message = await lock(broker, S);
  assert.equal(await broker.peekLock(S), undefined);
  broker.clock.advance({ seconds: 29 });
  expectStatus(await broker.renew(message), 200);
  broker.clock.advance({ seconds: 29 });
  assert.equal(await broker.complete(message), 200);
  assert.equal(await broker.complete(message), 404);
  assert.deepEqual(await broker.peek(S), []);
  assert.deepEqual(await drainBodies(broker, OTHER), ['x']);
});

test('the lock of a subscription’s message ends after LockDuration', async (t) => {
  const broker = await start(t, { LockDuration: 'PT30S' }, 'x');
  await lock(broker, S);
  broker.clock.advance({ ms: 29_999 });
  assert.equal(await broker.peekLock(S), undefined);
  broker.clock.advance({ ms: 1 });
  const again = await lock(broker, S);
  assert.deepEqual([again.body, again.broker.DeliveryCount], ['x', 2]);
});

test('an abandoned message of a subscription is the next one delivered, with its changed properties', async (t) => {
  const broker = await start(t, {}, 'a', 'b');
  await lockAndSettle(broker, 'abandon', { properties: { tried: 'once' } }, S);
  const [again, next] = await broker.peekLockMany(S, 2);
  assert.deepEqual([again?.body, next?.body], ['a', 'b']);
  assert.deepEqual([again?.broker.DeliveryCount, again?.properties], [2, { tried: 'once' }]);
  assert.deepEqual((await drain(broker, OTHER))[0]?.properties, {});
});

test('a deferred message of a subscription is received only by its sequence number', async (t) => {
  const broker = await start(t, {}, 'a', 'b');
  const deferred = await lockAndSettle(broker, 'defer', {}, S);
  assert.deepEqual(await drainBodies(broker, S), ['b']);
  const [again] = await broker.receiveDeferred(S, [deferred.broker.SequenceNumber]);
  assert.ok(again);
  assert.deepEqual([again.body, again.broker.State], ['a', 'Deferred']);
  await settleOne(broker, again, 'complete', {}, S);
  assert.deepEqual(await broker.peek(S), []);
  assert.deepEqual(await drainBodies(broker, OTHER), ['a', 'b']);
});

test('#34 #C1 #C14 each subscription has its own dead-letter queue, whose path is case-insensitive', async (t) => {
  const broker = await start(t, {}, 'x', 'y');
  const why = { deadLetterReason: 'bad', deadLetterErrorDescription: 'very bad' };
  const held = await lockAndSettle(broker, 'deadLetter', why, S);
  for (const path of [
    't/subscriptions/s/$deadletterqueue',
    't/Subscriptions/s/$DeadLetterQueue',
    'T/SUBSCRIPTIONS/S/$DEADLETTERQUEUE',
  ]) {
    assert.deepEqual(await reasons(broker, path), [['x', 'bad', 'very bad']]);
  }
  const dead = await lock(broker, DEAD);
  assert.equal(dead.broker.SequenceNumber, held.broker.SequenceNumber);
  assert.equal(await broker.complete(dead), 200);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.deepEqual(await drainBodies(broker, S), ['y']);
  assert.deepEqual(await drainBodies(broker, OTHER), ['x', 'y']);
  assert.deepEqual(await drainBodies(broker, deadLettersOf(OTHER)), []);
});

test('a dead letter of a subscription can be deferred, but not dead-lettered again', async (t) => {
  const broker = await start(t, {}, 'x');
  await lockAndSettle(broker, 'deadLetter', {}, S);
  const dead = await lock(broker, DEAD);
  const again = { lockToken: dead.broker.LockToken, outcome: 'deadLetter' } as const;
  const [refused] = await broker.settle(DEAD, [again]);
  assert.equal(refused?.error?.code, 'InvalidOperation');
  await settleOne(broker, dead, 'defer', {}, DEAD);
  assert.equal(await broker.peekLock(DEAD), undefined);
  const [found] = await broker.receiveDeferred(DEAD, [dead.broker.SequenceNumber]);
  assert.equal(found?.body, 'x');
});

test('a message is dead-lettered after the MaxDeliveryCount of its subscription', async (t) => {
  const broker = await start(t, { MaxDeliveryCount: '2' }, 'x');
  await lockAndSettle(broker, 'abandon', {}, S);
  await lockAndSettle(broker, 'abandon', {}, S);
  assert.equal(await broker.peekLock(S), undefined);
  const description = 'Message could not be consumed after 2 delivery attempts.';
  assert.deepEqual(await reasons(broker, DEAD), [['x', 'MaxDeliveryCountExceeded', description]]);
  assert.deepEqual(await counts(broker, S), { Message: 1, DeadLetter: 1 });
});

test('messages expire in a subscription, and are dead-lettered if the subscription is set to do so', async (t) => {
  const broker = await start(t, { DeadLetteringOnMessageExpiration: 'true' });
  expectStatus(await broker.send('t', 'short', { TimeToLive: 10 }), 201);
  expectStatus(await broker.send('t', 'long'), 201);
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(await drainBodies(broker, S), ['long']);
  assert.deepEqual(await drainBodies(broker, OTHER), ['long']);
  assert.deepEqual(await reasons(broker, DEAD), [['short', ...EXPIRED]]);
  assert.deepEqual(await broker.peek(deadLettersOf(OTHER)), []);
});

test('#C2 resubmitted dead letters of a subscription become new messages of it, and no message is lost', async (t) => {
  const broker = await start(t, {}, 'a', 'b');
  const [, b] = await broker.peekLockMany(S, 2);
  assert.ok(b);
  await settleOne(broker, b, 'deadLetter', { deadLetterReason: 'bad' }, S);
  assert.equal(await broker.resubmit(DEAD), 1);
  broker.clock.advance({ minutes: 2 });
  const all = await drain(broker, S);
  assert.deepEqual(bodies(all).toSorted(), ['a', 'b']);
  assert.equal(new Set(numbers(all)).size, 2);
  assert.deepEqual(await drainBodies(broker, OTHER), ['a', 'b']);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('#60 messages sent after a resubmission have other sequence numbers, and none replaces another', async (t) => {
  const broker = await start(t, {}, 'a', 'b', 'c');
  for (let i = 0; i < 3; i++) await lockAndSettle(broker, 'deadLetter', {}, S);
  assert.equal(await broker.resubmit(DEAD), 3);
  for (const body of ['d', 'e']) expectStatus(await broker.send('t', body), 201);
  const all = await drain(broker, S);
  assert.deepEqual(bodies(all).toSorted(), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(new Set(numbers(all)).size, 5);
});

test('operator actions by sequence number affect one subscription only', async (t) => {
  const broker = await start(t, {}, 'a', 'b', 'c', 'd');
  const held = await lock(broker, S);
  assert.deepEqual(await broker.breakLock(S, [1]), [true]);
  assert.equal(await broker.complete(held), 404);
  assert.deepEqual(await broker.deleteByNumber(S, [2]), [true]);
  assert.deepEqual(await broker.deadLetterByNumber(S, [3], { deadLetterReason: 'odd' }), [true]);
  assert.deepEqual(await drainBodies(broker, S), ['a', 'd']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['c']);
  assert.deepEqual(await drainBodies(broker, OTHER), ['a', 'b', 'c', 'd']);
});

test('a purged subscription is empty, gets later messages, and the others keep theirs', async (t) => {
  const broker = await start(t, {}, 'a', 'b');
  await broker.purge(S);
  assert.deepEqual(await counts(broker, S), {});
  expectStatus(await broker.send('t', 'c'), 201);
  assert.deepEqual(await drainBodies(broker, S), ['c']);
  assert.deepEqual(await drainBodies(broker, OTHER), ['a', 'b', 'c']);
});

test('receive-and-delete removes a message from one subscription, and peek removes none', async (t) => {
  const broker = await start(t, {}, 'a', 'b', 'c');
  assert.equal((await broker.receiveAndDelete(S))?.body, 'a');
  assert.deepEqual(bodies(await broker.peek(S)), ['b', 'c']);
  assert.deepEqual(bodies(await broker.peek(S, { from: 3 })), ['c']);
  assert.deepEqual(bodies(await broker.peek(S, { max: 1 })), ['b']);
  assert.deepEqual(await drainBodies(broker, S), ['b', 'c']);
  assert.deepEqual(bodies(await broker.peek(OTHER)), ['a', 'b', 'c']);
});

test('#40 a subscription that requires sessions dead-letters messages without one, and the send succeeds', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, subscription('sessions'), { RequiresSession: 'true' });
  expectStatus(await broker.sendBatch('t', [{ Body: 'none' }, { Body: 'none either' }]), 201);
  const description =
    "Session enabled entity doesn't allow a message whose session identifier is null.";
  const path = deadLettersOf(subscription('sessions'));
  assert.deepEqual(await reasons(broker, path), [
    ['none', 'Session id is null.', description],
    ['none either', 'Session id is null.', description],
  ]);
  assert.deepEqual(await drainBodies(broker, path), ['none', 'none either']);
  assert.deepEqual(await drainBodies(broker, S), ['none', 'none either']);
});

test('#14 an update of a subscription ends its own locks and no others', async (t) => {
  const broker = await start(t, {}, 'x');
  const here = await lock(broker, S);
  const there = await lock(broker, OTHER);
  expectStatus(
    await broker.putEntity(
      S,
      'SubscriptionDescription',
      { LockDuration: 'PT2M' },
      { 'If-Match': '*' },
    ),
    200,
  );
  assert.equal(await broker.complete(here), 404);
  assert.equal(await broker.complete(there), 200);
  assert.equal((await lock(broker, S)).broker.DeliveryCount, 2);
});
