import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  lock,
  numbers,
  sendTogether,
  startQueue,
} from '../queues/queue.ts';
import { commit, refusalOf, requireRefused, sending, settling, transact } from './transaction.ts';

/** Transactions over HTTP: all operations or none (semantics U1). */

async function createQueues(broker: TestBroker, ...names: readonly string[]): Promise<void> {
  for (const name of names) expectStatus(await broker.createQueue(name), 201);
}

test('the sends and settlements of a transaction become visible together, and each has a result', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  await sendTogether(broker, ['complete', 'abandon', 'defer', 'deadLetter', 'renew', 'held']);
  const [complete, abandon, defer, deadLetter, renew] = await broker.peekLockMany('q', 6);
  assert.ok(complete && abandon && defer && deadLetter && renew);
  broker.clock.advance({ ms: 10_000 });
  const outcomes = await commit(broker, [
    settling('complete', 'q', complete),
    sending('q', 'first', { Body: 'second', BrokerProperties: { MessageId: 'two' } }),
    settling('abandon', 'q', abandon, { properties: { tries: 1 } }),
    settling('defer', 'q', defer, { properties: { why: 'later' } }),
    settling('deadLetter', 'q', deadLetter, {
      deadLetterReason: 'bad',
      deadLetterErrorDescription: 'very',
    }),
    settling('renew', 'q', renew),
    sending('q', 'third'),
  ]);
  const settled = { settled: true };
  const lockEnd = new Date(broker.clock.now() + 30_000);
  assert.deepEqual(outcomes, [
    settled,
    { sequenceNumbers: [7, 8] },
    settled,
    settled,
    settled,
    { lockedUntilUtc: lockEnd.toUTCString(), lockedUntil: lockEnd.toISOString() },
    { sequenceNumbers: [9] },
  ]);
  assert.deepEqual(await deadLetters(broker), [['deadLetter', 'bad', 'very']]);
  const all = await broker.peek('q');
  assert.deepEqual(bodies(all), ['abandon', 'defer', 'renew', 'held', 'first', 'second', 'third']);
  assert.deepEqual(numbers(all), [2, 3, 5, 6, 7, 8, 9]);
  const [deferred] = await broker.receiveDeferred('q', [3]);
  assert.equal(deferred?.properties['why'], 'later');
  const free = await broker.peekLockMany('q', 10);
  assert.deepEqual(bodies(free), ['abandon', 'first', 'second', 'third']);
  assert.equal(free[0]?.properties['tries'], 1);
  // The lock that was not renewed expires first, then the renewed one.
  broker.clock.advance({ ms: 20_000 });
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['held']);
  broker.clock.advance({ ms: 10_000 });
  assert.ok(bodies(await broker.peekLockMany('q', 10)).includes('renew'));
});

test('#129 a refused transaction sends nothing, and the locks of its messages stay live', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, ['a', 'b', 'c']);
  const [a, b, c] = await broker.peekLockMany('q', 3);
  assert.ok(a && b && c);
  await commit(broker, [settling('complete', 'q', a), settling('complete', 'q', b)]);
  const refusal = await requireRefused(
    t,
    broker,
    [sending('q', 'new'), settling('complete', 'q', c), settling('complete', 'q', a)],
    { status: 404, code: 'MessageLockLost', operation: 2 },
  );
  assert.match(refusal.message, /^The lock supplied is invalid\./);
  assert.equal(refusal.retryable, false);
  assert.deepEqual(bodies(await broker.peek('q')), ['c']);
  // The lock is still live, so another transaction can use it.
  await commit(broker, [settling('complete', 'q', c), sending('q', 'new')]);
  assert.deepEqual(bodies(await broker.peek('q')), ['new']);
});

test('#129 a message that was completed in a transaction cannot be completed again', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const a = await lock(broker);
  await commit(broker, [settling('complete', 'q', a)]);
  assert.equal(await broker.complete(a), 404);
  await requireRefused(t, broker, [sending('q', 'b'), settling('complete', 'q', a)], {
    status: 404,
    code: 'MessageLockLost',
    operation: 1,
  });
});

test('#130 a transaction of 101 messages is refused, and one of 100 is carried out', async (t) => {
  const broker = await startQueue(t);
  const hundred = Array.from({ length: 100 }, (_, i) => `m${i}`);
  const refusal = await requireRefused(
    t,
    broker,
    [sending('q', ...hundred), sending('q', 'one more')],
    {
      status: 400,
      code: 'InvalidOperation',
    },
  );
  assert.equal(refusal.message, "Can't send more than 100 messages in a single transaction");
  await commit(broker, [sending('q', ...hundred.slice(1)), sending('q', 'm0')]);
  assert.equal((await broker.peek('q')).length, 100);
});

test('a message that expired or reached MaxDeliveryCount is dead-lettered when a transaction abandons it', async (t) => {
  const broker = await startQueue(t, {
    LockDuration: 'PT1M',
    DeadLetteringOnMessageExpiration: 'true',
    MaxDeliveryCount: '1',
  });
  const short = { BrokerProperties: { TimeToLive: 30 } };
  await sendTogether(broker, [
    { Body: 'used up' },
    { Body: 'late', ...short },
    { Body: 'later', ...short },
  ]);
  const [usedUp, late, later] = await broker.peekLockMany('q', 3);
  assert.ok(usedUp && late && later);
  broker.clock.advance({ ms: 40_000 });
  await commit(broker, [
    settling('abandon', 'q', usedUp),
    settling('abandon', 'q', late, { properties: { seen: true } }),
    settling('complete', 'q', later),
  ]);
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(
    await broker
      .receiveAndDeleteMany(DEAD, 3)
      .then((dead) =>
        dead.map(({ body, properties }) => [
          body,
          properties['DeadLetterReason'],
          properties['seen'],
        ]),
      ),
    [
      ['used up', 'MaxDeliveryCountExceeded', undefined],
      ['late', 'MaxDeliveryCountExceeded', true],
    ],
  );
});

test('one transaction can settle messages of several blocks', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b', 'c');
  await sendTogether(broker, ['d', 'e', 'f']);
  const held = await broker.peekLockMany('q', 6);
  await commit(broker, [
    ...held.slice(0, 2).map((message) => settling('complete', 'q', message)),
    ...held.slice(2, 4).map((message) => settling('abandon', 'q', message)),
    ...held.slice(4).map((message) => settling('deadLetter', 'q', message)),
  ]);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 9)), ['c', 'd']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['e', 'f']);
});

test('concurrent transactions that settle messages of one block all succeed after retries', async (t) => {
  const broker = await startQueue(t);
  await createQueues(broker, 'out');
  const letters = Array.from({ length: 16 }, (_, i) => `m${i}`.padStart(3, '0'));
  await sendTogether(broker, letters);
  const held = await broker.peekLockMany('q', 16);
  const work = held.map(async (message, i) => {
    const operations = [settling('complete', 'q', message), sending('out', letters[i] ?? '')];
    for (;;) {
      const answer = await transact(broker, operations);
      if (answer.status === 200) return;
      assert.equal(refusalOf(answer).retryable, true, answer.text);
    }
  });
  await Promise.all(work);
  assert.deepEqual(await broker.peek('q'), []);
  assert.deepEqual(bodies(await broker.peek('out')).sort(), letters);
});

test('#C4 a transaction can resubmit a message of a dead-letter queue', async (t) => {
  const broker = await startQueue(t, {}, 'broken');
  const broken = await lock(broker);
  await commit(broker, [settling('deadLetter', 'q', broken)]);
  const dead = await lock(broker, DEAD);
  await commit(broker, [sending('q', 'mended'), settling('complete', DEAD, dead)]);
  assert.deepEqual(bodies(await broker.peek('q')), ['mended']);
  assert.deepEqual(await broker.peek(DEAD), []);
  const mended = await lock(broker);
  await requireRefused(t, broker, [settling('deadLetter', DEAD, mended)], {
    status: 400,
    code: 'InvalidOperation',
    operation: 0,
  });
});

test('deferred messages that are received by number can be completed in a transaction', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  const held = await broker.peekLockMany('q', 2);
  await commit(
    broker,
    held.map((message) => settling('defer', 'q', message)),
  );
  const [a, b] = await broker.receiveDeferred('q', [1, 2]);
  assert.ok(a && b);
  await commit(broker, [
    settling('complete', 'q', a),
    settling('defer', 'q', b, { properties: { x: 1 } }),
  ]);
  const left = await broker.peek('q');
  assert.deepEqual(
    left.map(({ body, properties }) => [body, properties['x']]),
    [['b', 1]],
  );
  assert.deepEqual(await broker.receiveDeferredRaw('q', [1]).then(({ status }) => status), 404);
});

test('messages of two entities cannot be settled in one transaction', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await createQueues(broker, 'other');
  expectStatus(await broker.send('other', 'b'), 201);
  const a = await lock(broker);
  const b = await lock(broker, 'other');
  const both = [settling('complete', 'q', a), settling('complete', 'other', b)];
  const refused = { status: 400, code: 'InvalidOperation', operation: 1 };
  await requireRefused(t, broker, both, refused);
  await requireRefused(
    t,
    broker,
    [settling('complete', 'q', a), settling('complete', DEAD, b)],
    refused,
  );
  assert.equal(await broker.complete(a), 200);
  assert.equal(await broker.complete(b), 200);
});

test('a transaction that settles or renews a message twice is refused', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const a = await lock(broker);
  await requireRefused(t, broker, [settling('renew', 'q', a), settling('complete', 'q', a)], {
    status: 400,
    code: 'InvalidOperation',
    operation: 1,
  });
});
