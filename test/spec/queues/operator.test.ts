import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  instant,
  isoInstant,
  lock,
  lockAndSettle,
  messageOf,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const named = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

test('#14 breaking a lock makes the message available at once, and its holder loses the lock', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  const held = await lock(broker);
  assert.deepEqual(await broker.breakLock('q', [1]), [true]);
  assert.equal(await broker.complete(held), 404);
  expectStatus(await broker.renew(held), 404);
  const again = await lock(broker);
  assert.deepEqual([again.body, again.broker.DeliveryCount], ['a', 2]);
});

test('a deferred message whose lock is broken stays deferred, and can be received by its number', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'defer');
  const [held] = await broker.receiveDeferred('q', [1]);
  assert.ok(held);
  assert.deepEqual(await broker.breakLock('q', [1]), [true]);
  const [outcome] = await broker.settle('q', [settlementOf(held, 'complete')]);
  assert.equal(outcome?.error?.code, 'MessageLockLost');
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await broker.receiveDeferred('q', [1]))[0]?.body, 'a');
});

test('breaking the lock of a message that is not locked does nothing', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, 'free', 'expired', 'dead');
  const held = await broker.peekLockMany('q', 3);
  assert.ok(held[0] && held[2]);
  await settleOne(broker, held[0], 'abandon');
  await settleOne(broker, held[2], 'deadLetter');
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(await broker.breakLock('q', [1, 2, 3, 99]), [false, false, false, false]);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['free', 'expired']);
});

test('a message whose last lock is broken is dead-lettered, as if the lock had expired', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1' }, 'a');
  await lock(broker);
  assert.deepEqual(await broker.breakLock('q', [1]), [true]);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await deadLetters(broker)).length, 1);
});

test('a reactivated message is delivered in its old place, with its DeliveryCount and changed properties', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b', 'c');
  await lockAndSettle(broker, 'defer', { properties: { why: 'later' } });
  await lockAndSettle(broker, 'defer');
  assert.deepEqual(await broker.reactivate('q', [1]), [true]);
  const received = await broker.peekLockMany('q', 10);
  assert.deepEqual(bodies(received), ['a', 'c']);
  const [a] = received;
  assert.deepEqual([a?.broker.DeliveryCount, a?.broker.SequenceNumber], [2, 1]);
  assert.deepEqual([a?.properties['why'], a?.broker.State], ['later', 'Active']);
  assert.equal((await broker.receiveDeferredRaw('q', [1])).status, 404);
});

test('a message that is not deferred, or is locked, is not reactivated', async (t) => {
  const broker = await startQueue(t, {}, 'held', 'active');
  await lockAndSettle(broker, 'defer');
  const [held] = await broker.receiveDeferred('q', [1]);
  assert.deepEqual(await broker.reactivate('q', [1, 2, 99]), [false, false, false]);
  assert.ok(held);
  await settleOne(broker, held, 'complete');
});

test('messages in all states are deleted by sequence number, unless they are locked', async (t) => {
  const broker = await startQueue(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await sendTogether(broker, ['deferred', 'held', 'active']);
  assert.deepEqual(await broker.schedule('q', [messageOf('scheduled', at)]), [4]);
  expectStatus(await broker.send('q', 'kept'), 201);
  await lockAndSettle(broker, 'defer');
  const held = await lock(broker);
  const done = await broker.deleteByNumber('q', [1, 2, 3, 4, 99]);
  assert.deepEqual(done, [true, false, true, true, false]);
  broker.clock.advance({ minutes: 5 });
  assert.deepEqual(bodies(await broker.peek('q')), ['held', 'kept']);
  assert.equal((await broker.receiveDeferredRaw('q', [1])).status, 404);
  assert.equal(await broker.complete(held), 404);
});

test('a dead letter is deleted by its number through the path of the dead-letter queue', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter');
  assert.deepEqual(await broker.deleteByNumber('q', [1]), [false]);
  assert.deepEqual(await broker.deleteByNumber(DEAD, [1]), [true]);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['b']);
});

test('#C11 messages are dead-lettered by sequence number, with reason and properties, unless they are locked', async (t) => {
  const broker = await startQueue(t, {}, 'deferred', 'held', 'active');
  await lockAndSettle(broker, 'defer');
  await lock(broker);
  const options = {
    deadLetterReason: 'poison',
    deadLetterErrorDescription: 'seen by an operator',
    properties: { by: 'me' },
  };
  assert.deepEqual(await broker.deadLetterByNumber('q', [1, 2, 3, 99], options), [
    true,
    false,
    true,
    false,
  ]);
  assert.deepEqual(await deadLetters(broker), [
    ['deferred', 'poison', 'seen by an operator'],
    ['active', 'poison', 'seen by an operator'],
  ]);
  assert.deepEqual(bodies(await broker.peek('q')), ['held']);
  const dead = await broker.receiveAndDeleteMany(DEAD, 10);
  assert.deepEqual(
    dead.map(({ broker: { DeliveryCount }, properties }) => [DeliveryCount, properties['by']]),
    [
      [2, 'me'],
      [1, 'me'],
    ],
  );
});

test('messages enqueued before an instant are deleted, oldest first, up to maxMessages', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, ['a', 'b', 'c']);
  broker.clock.advance({ seconds: 10 });
  await sendTogether(broker, ['d', 'e']);
  broker.clock.advance({ seconds: 10 });
  const enqueuedBefore = isoInstant({ seconds: 10 });
  assert.equal(await broker.deleteMessages('q', { maxMessages: 2, enqueuedBefore }), 2);
  assert.deepEqual(bodies(await broker.peek('q')), ['c', 'd', 'e']);
  assert.equal(await broker.deleteMessages('q', { maxMessages: 100, enqueuedBefore }), 1);
  assert.equal(await broker.deleteMessages('q', { maxMessages: 100, enqueuedBefore }), 0);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['d', 'e']);
});

test('a deletion of old messages keeps those that are locked, deferred or scheduled', async (t) => {
  const broker = await startQueue(t);
  const later = { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) };
  await sendTogether(broker, ['deferred', 'locked', 'a', messageOf('scheduled', later), 'b']);
  await lockAndSettle(broker, 'defer');
  const held = await lock(broker);
  const range = { maxMessages: 100, enqueuedBefore: isoInstant({ seconds: 3601 }) };
  assert.equal(await broker.deleteMessages('q', range), 2);
  assert.deepEqual(bodies(await broker.peek('q')), ['deferred', 'locked', 'scheduled']);
  assert.equal(await broker.complete(held), 200);
});

test('4,000 messages are deleted by calls that are repeated until one deletes nothing', async (t) => {
  const broker = await startQueue(t);
  for (let i = 0; i < 4; i++) await sendTogether(broker, named(1000));
  broker.clock.advance({ seconds: 1 });
  const range = { maxMessages: 4000, enqueuedBefore: isoInstant({ seconds: 1 }) };
  let deleted = 0;
  for (let last = -1; last !== 0; deleted += last) last = await broker.deleteMessages('q', range);
  assert.equal(deleted, 4000);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

for (const [what, verb, body] of [
  ['no numbers', '$breakLock', { sequenceNumbers: [] }],
  ['more than a hundred numbers', '$delete', { sequenceNumbers: named(101).map((_, i) => i + 1) }],
  ['a number twice', '$reactivate', { sequenceNumbers: [1, 1] }],
  ['a misspelt field', '$delete', { maxMessages: 1, before: isoInstant({ seconds: 0 }) }],
  ['no instant', '$delete', { maxMessages: 1 }],
  ['a purge with maxMessages', '$purge', { maxMessages: 1 }],
] as const) {
  test(`${verb} with ${what} is refused and changes nothing`, async (t) => {
    const broker = await startQueue(t, {}, 'a');
    expectStatus(await broker.post('q', verb, body), 400);
    assert.deepEqual(numbers(await broker.peekLockMany('q', 10)), [1]);
  });
}

const ALL = { maxMessages: 9, enqueuedBefore: isoInstant({ seconds: 9 }) };

for (const [what, act] of [
  ['deletion of old messages', (broker: TestBroker) => broker.deleteMessages(DEAD, ALL)],
  ['resubmission', (broker: TestBroker) => broker.resubmit(DEAD)],
] as const) {
  test(`a ${what} that DynamoDB throttles halfway answers how many messages it processed`, async (t) => {
    let writes: number | undefined;
    const client = hookedClient(({ command }) => {
      if (writes !== undefined && command === 'TransactWriteItemsCommand' && writes++ > 0)
        throw throttled();
    });
    t.after(() => client.destroy());
    const broker = await startBroker(t, { client });
    expectStatus(await broker.createQueue('q'), 201);
    for (const body of ['a', 'b']) {
      expectStatus(await broker.send('q', body), 201);
      await lockAndSettle(broker, 'deadLetter');
    }
    writes = 0;
    assert.equal(await act(broker), 1);
    writes = undefined;
    assert.deepEqual(bodies(await broker.peek(DEAD)), ['b']);
    assert.equal(await act(broker), 1);
  });
}

test('a deletion by number that DynamoDB throttles at the second message answers 504, not that nothing was deleted', async (t) => {
  let deletions: number | undefined;
  const client = hookedClient(({ command }) => {
    if (deletions !== undefined && command === 'DeleteItemCommand' && deletions++ > 0)
      throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  expectStatus(await broker.createQueue('q'), 201);
  for (const body of ['a', 'b']) expectStatus(await broker.send('q', body), 201);
  deletions = 0;
  expectStatus(await broker.post('q', '$delete', { sequenceNumbers: [1, 2] }), 504);
  deletions = undefined;
  assert.deepEqual(await broker.deleteByNumber('q', [1, 2]), [false, true]);
});
