import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type Received } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  lock,
  lockAndSettle,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const LOCK_LOST =
  'The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue. For more information please see https://aka.ms/ServiceBusExceptions .';

const bodiesOf = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

test('one call settles messages in different ways and answers an outcome for each', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, 'sent alone');
  await sendTogether(broker, ['complete', 'abandon', 'defer', 'deadLetter', 'held', 'done']);
  const held = await broker.peekLockMany('q', 10);
  const [alone, complete, abandon, defer, deadLetter, , done] = held;
  assert.ok(alone && complete && abandon && defer && deadLetter && done);
  await settleOne(broker, done, 'complete');
  const unknown = '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547';
  const settlements = [
    settlementOf(complete, 'complete'),
    settlementOf(done, 'complete'),
    settlementOf(abandon, 'abandon', { properties: { tries: 1 } }),
    { lockToken: unknown, outcome: 'complete' as const },
    settlementOf(defer, 'defer', { properties: { why: 'later' } }),
    settlementOf(deadLetter, 'deadLetter', { deadLetterReason: 'bad' }),
    settlementOf(alone, 'complete'),
  ];
  const outcomes = await broker.settle('q', settlements);
  assert.deepEqual(
    outcomes.map(({ lockToken }) => lockToken),
    settlements.map(({ lockToken }) => lockToken),
  );
  assert.deepEqual(
    outcomes.map(({ settled, error }) => (settled ? 'settled' : error?.code)),
    ['settled', 'MessageLockLost', 'settled', 'MessageLockLost', 'settled', 'settled', 'settled'],
  );
  assert.ok(outcomes[1]?.error?.message.startsWith(LOCK_LOST), outcomes[1]?.error?.message);
  assert.deepEqual(bodies(await broker.peek('q')), ['abandon', 'defer', 'held']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['deadLetter']);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['abandon']);
});

test('a lock token that is twice in a call with different outcomes settles by the first', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const message = await lock(broker);
  const outcomes = await broker.settle('q', [
    settlementOf(message, 'abandon'),
    settlementOf(message, 'complete'),
  ]);
  assert.deepEqual(
    outcomes.map(({ settled }) => settled),
    [true, false],
  );
  assert.equal((await lock(broker)).body, 'a');
});

test('#8 #B14 every settlement is refused once the lock has expired, and does not change the message', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  const outcomes = ['complete', 'abandon', 'defer', 'deadLetter'] as const;
  await sendTogether(broker, outcomes);
  const held = await broker.peekLockMany('q', 4);
  broker.clock.advance({ seconds: 30 });
  const answers = await broker.settle(
    'q',
    held.map((message) => settlementOf(message, message.body as (typeof outcomes)[number])),
  );
  assert.deepEqual(
    answers.map(({ error }) => error?.code),
    outcomes.map(() => 'MessageLockLost'),
  );
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), [...outcomes]);
  assert.deepEqual(await broker.peek(DEAD), []);
});

for (const outcome of ['complete', 'abandon', 'defer', 'deadLetter'] as const) {
  test(`#5 #B14 a lock token settles nothing more after ${outcome}`, async (t) => {
    const broker = await startQueue(t, {}, 'a');
    const message = await lockAndSettle(broker, outcome);
    for (const again of ['complete', 'abandon', 'defer', 'deadLetter'] as const) {
      const [answer] = await broker.settle('q', [settlementOf(message, again)]);
      assert.equal(answer?.error?.code, 'MessageLockLost', again);
    }
    expectStatus(await broker.renew(message), 404);
  });
}

test('#B16 a message whose completion came too late is redelivered with the same MessageId', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' });
  expectStatus(await broker.send('q', 'a', { MessageId: 'order-7' }), 201);
  const first = await lock(broker);
  broker.clock.advance({ seconds: 30 });
  assert.equal(await broker.complete(first), 404);
  const second = await lock(broker);
  assert.equal(second.broker.MessageId, 'order-7');
  assert.equal(second.broker.SequenceNumber, first.broker.SequenceNumber);
  assert.notEqual(second.broker.LockToken, first.broker.LockToken);
});

test('#12 changed properties, including null, add up over deliveries, and broker properties stay', async (t) => {
  const broker = await startQueue(t);
  const UserProperties = { kept: 1, changed: 'old' };
  const BrokerProperties = { Label: 'label', MessageId: 'm' };
  await sendTogether(broker, [{ Body: 'a', UserProperties, BrokerProperties }]);
  await lockAndSettle(broker, 'abandon', { properties: { changed: 'new', Label: 'mine' } });
  await lockAndSettle(broker, 'abandon', { properties: { nothing: null, added: 2.5 } });
  const [message] = await broker.peekLockMany('q', 1);
  assert.deepEqual(message?.properties, {
    kept: 1,
    changed: 'new',
    Label: 'mine',
    nothing: null,
    added: 2.5,
  });
  assert.deepEqual([message?.broker['Label'], message?.broker.MessageId], ['label', 'm']);
});

for (const options of [{}, { properties: { tries: 1 } }, { delaySeconds: 0 }]) {
  const how = JSON.stringify(options);
  test(`#9 #B8 a message of the middle of a batch that is abandoned with ${how} is delivered next`, async (t) => {
    const broker = await startQueue(t);
    await sendTogether(broker, ['a', 'b', 'c', 'd']);
    const a = await lock(broker);
    const b = await lock(broker);
    await settleOne(broker, b, 'abandon', options);
    assert.equal((await lock(broker)).body, 'b');
    assert.equal((await lock(broker)).body, 'c');
    await settleOne(broker, a, 'abandon', options);
    assert.equal((await lock(broker)).body, 'a');
    assert.equal((await lock(broker)).body, 'd');
  });
}

test('#12 a message keeps 1,000 characters of changed properties from each of ten deliveries', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '20' }, 'a');
  const expected: Record<string, string> = {};
  for (let i = 0; i < 10; i++) {
    const properties = { [`p${i}`]: `${i}`.repeat(1000) };
    Object.assign(expected, properties);
    await lockAndSettle(broker, 'abandon', { properties });
  }
  const [message] = await broker.peekLockMany('q', 1);
  assert.deepEqual(message?.properties, expected);
});

test('each message of a block keeps its own changed properties', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, bodiesOf(24));
  const held = await broker.peekLockMany('q', 24);
  const outcomes = await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'abandon', { properties: { who: message.body } })),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  const again = await broker.peekLockMany('q', 24);
  assert.deepEqual(
    again.map(({ body, properties }) => [body, properties['who']]),
    bodiesOf(24).map((body) => [body, body]),
  );
});

test('a message that is abandoned with a delay is skipped until its end, and then delivered in its old place', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, 'a', 'b', 'c');
  await lockAndSettle(broker, 'abandon', { delaySeconds: 60 });
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'b');
  assert.deepEqual(numbers(await broker.peek('q')), [1, 3]);
  broker.clock.advance({ minutes: 1, ms: -1 });
  const held = await broker.peekLockMany('q', 10);
  assert.deepEqual(bodies(held), ['c']);
  await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'abandon')),
  );
  broker.clock.advance({ ms: 1 });
  const all = await broker.peekLockMany('q', 10);
  assert.deepEqual(bodies(all), ['a', 'c']);
  assert.equal(all[0]?.broker.DeliveryCount, 2);
});

test('an update of the queue does not end the delay of an abandoned message', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'abandon', { delaySeconds: 60 });
  expectStatus(await broker.updateQueue('q', {}), 200);
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ minutes: 1 });
  assert.equal((await lock(broker)).body, 'a');
});

test('an abandon can have a delay of 1 ms, of 0 or of a year', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'abandon', { delaySeconds: 0.001 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ ms: 1 });
  await lockAndSettle(broker, 'abandon', { delaySeconds: 0 });
  await lockAndSettle(broker, 'abandon', { delaySeconds: 365 * 24 * 3600 });
  broker.clock.advance({ days: 365, ms: -1 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ ms: 1 });
  assert.equal((await lock(broker)).broker.DeliveryCount, 4);
});

test('each delay of the abandoned messages of a batch ends at its own instant, with and without changed properties', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, bodiesOf(6));
  const held = await broker.peekLockMany('q', 6);
  const settlements = held.map((message, i) =>
    settlementOf(message, 'abandon', {
      delaySeconds: 10 * (6 - i),
      ...(i % 2 === 0 ? { properties: { i } } : {}),
    }),
  );
  await broker.settle('q', settlements);
  for (const expected of bodiesOf(6).reverse()) {
    broker.clock.advance({ seconds: 10 });
    const received: readonly Received[] = await broker.receiveAndDeleteMany('q', 10);
    assert.deepEqual(bodies(received), [expected]);
  }
});

test('one call settles 1,000 messages in four ways', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, bodiesOf(1000));
  const held = await broker.peekLockMany('q', 1000);
  assert.equal(held.length, 1000);
  const ways = ['complete', 'abandon', 'defer', 'deadLetter'] as const;
  const outcomes = await broker.settle(
    'q',
    held.map((message, i) => settlementOf(message, ways[i % 4] ?? 'complete')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  const { active, deadLetter } = await broker.runtimeProperties('q');
  assert.deepEqual([active, deadLetter], [500, 250]);
  assert.equal((await broker.receiveAndDeleteMany('q', 1000)).length, 250);
});
