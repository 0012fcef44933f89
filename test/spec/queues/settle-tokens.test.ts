import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, fromWire, type TestBroker } from '../../support/test-broker.ts';
import { bodies, DEAD, lock, settlementOf } from './queue.ts';

const LOCK_LOST =
  /The lock supplied is invalid\. Either the lock expired, or the message has already been removed from the queue\. For more information please see https:\/\/aka\.ms\/ServiceBusExceptions \./;

async function startQueue(t: TestContext, ...sent: readonly string[]): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  for (const body of sent) expectStatus(await broker.send('q', body), 201);
  return broker;
}

async function startWithBatch(t: TestContext, count: number): Promise<TestBroker> {
  const broker = await startQueue(t);
  const batch = Array.from({ length: count }, (_, i) => ({ Body: `${i}` }));
  expectStatus(await broker.sendBatch('q', batch), 201);
  return broker;
}

test('#4 #B10 a completion removes the message and answers 200', async (t) => {
  const broker = await startQueue(t, 'x');
  const message = await lock(broker);
  const answer = await broker.request('DELETE', message.location ?? '');
  assert.deepEqual([answer.status, answer.text], [200, '']);
  broker.clock.advance({ days: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#5 #B14 a second completion of a message answers MessageLockLost', async (t) => {
  const broker = await startQueue(t, 'x');
  const message = await lock(broker);
  assert.equal(await broker.complete(message), 200);
  const again = await broker.request('DELETE', message.location ?? '');
  assert.equal(again.status, 404);
  assert.equal(again.headers.get('x-dynabus-error'), 'MessageLockLost');
  assert.match(again.text, LOCK_LOST);
  const [outcome] = await broker.settle('q', [settlementOf(message, 'complete')]);
  assert.equal(outcome?.settled, false);
  assert.equal(outcome?.error?.code, 'MessageLockLost');
  assert.match(outcome?.error?.message ?? '', LOCK_LOST);
});

test('#B11 an abandoned message is available at once', async (t) => {
  const broker = await startQueue(t, 'x');
  assert.equal(await broker.abandon(await lock(broker)), 200);
  assert.equal((await lock(broker)).broker.DeliveryCount, 2);
});

test('a lock can be abandoned only once', async (t) => {
  const broker = await startQueue(t, 'x');
  const message = await lock(broker);
  assert.equal(await broker.abandon(message), 200);
  assert.equal(await broker.abandon(message), 404);
  assert.equal(await broker.complete(message), 404);
  assert.equal((await lock(broker)).broker.DeliveryCount, 2);
});

test('the path of a lock may contain the MessageId instead of the sequence number', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'x', { MessageId: 'order/7 ä' }), 201);
  const { LockToken } = (await lock(broker)).broker;
  const address = `q/messages/${encodeURIComponent('order/7 ä')}/${LockToken}`;
  assert.equal((await broker.request('POST', address)).status, 200);
  assert.equal((await broker.request('DELETE', address)).status, 200);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a lock token of another queue settles no message in either queue', async (t) => {
  const broker = await startQueue(t, 'mine');
  expectStatus(await broker.createQueue('other'), 201);
  expectStatus(await broker.send('other', 'theirs'), 201);
  const mine = await lock(broker);
  const theirs = await lock(broker, 'other');
  for (const method of ['DELETE', 'PUT', 'POST']) {
    const path = `q/messages/1/${theirs.broker.LockToken}`;
    assert.equal((await broker.request(method, path)).status, 404);
  }
  assert.equal(await broker.complete(mine), 200);
  assert.equal(await broker.complete(theirs), 200);
});

test('a lock token of a queue settles nothing in its dead-letter queue, and vice versa', async (t) => {
  const broker = await startQueue(t, 'dead', 'alive');
  await broker.settle('q', [settlementOf(await lock(broker), 'deadLetter')]);
  const dead = await lock(broker, DEAD);
  const alive = await lock(broker);
  assert.equal((await broker.settle('q', [settlementOf(dead, 'complete')]))[0]?.settled, false);
  assert.equal((await broker.settle(DEAD, [settlementOf(alive, 'complete')]))[0]?.settled, false);
  assert.equal(await broker.complete(dead), 200);
  assert.equal(await broker.complete(alive), 200);
});

test('a call with several settlements answers their outcomes in the order of the call', async (t) => {
  const broker = await startWithBatch(t, 6);
  const [done, back, aside, dead, stale, held] = await broker.peekLockMany('q', 6);
  assert.ok(done && back && aside && dead && stale && held);
  await broker.settle('q', [settlementOf(stale, 'complete')]);
  const asked = [
    settlementOf(stale, 'complete'),
    settlementOf(dead, 'deadLetter', { deadLetterReason: 'no use' }),
    { lockToken: 'no guid', outcome: 'complete' as const },
    settlementOf(done, 'complete'),
    settlementOf(aside, 'defer'),
    settlementOf(back, 'abandon'),
  ];
  const outcomes = await broker.settle('q', asked);
  assert.deepEqual(
    outcomes.map(({ lockToken, settled, error }) => [lockToken, settled, error?.code]),
    asked.map(({ lockToken }, i) => [
      lockToken,
      i !== 0 && i !== 2,
      i === 0 || i === 2 ? 'MessageLockLost' : undefined,
    ]),
  );
  // Only the abandoned message is available here, and only the dead-lettered one in the dead-letter queue.
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), [back.body]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 10)), [dead.body]);
  assert.equal((await broker.settle('q', [settlementOf(held, 'complete')]))[0]?.settled, true);
});

test('one call settles hundreds of messages in many blocks', async (t) => {
  const broker = await startWithBatch(t, 700);
  const locked = await broker.peekLockMany('q', 700);
  assert.equal(locked.length, 700);
  const outcomes = await broker.settle(
    'q',
    locked.map((message, i) => settlementOf(message, i % 7 === 0 ? 'abandon' : 'complete')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  assert.deepEqual(
    bodies(await broker.peekLockMany('q', 1000)),
    bodies(locked.filter((_, i) => i % 7 === 0)),
  );
});

test('the messages of a batch can be settled one by one, in any order', async (t) => {
  const broker = await startWithBatch(t, 30);
  const locked = await broker.peekLockMany('q', 30);
  const shuffled = [...locked].sort((a, b) => a.broker.LockToken.localeCompare(b.broker.LockToken));
  for (const message of [...shuffled.slice(0, 10), ...shuffled.slice(10).reverse()]) {
    assert.equal((await broker.settle('q', [settlementOf(message, 'complete')]))[0]?.settled, true);
  }
  broker.clock.advance({ days: 1 });
  assert.deepEqual(await broker.peekLockMany('q', 30), []);
});

test('messages of one batch can be settled by concurrent calls', async (t) => {
  const broker = await startWithBatch(t, 30);
  const locked = await broker.peekLockMany('q', 30);
  const outcomes = await Promise.all(
    locked.map((message, i) =>
      broker.settle('q', [settlementOf(message, i % 3 === 0 ? 'deadLetter' : 'complete')]),
    ),
  );
  assert.ok(outcomes.flat().every(({ settled }) => settled));
  broker.clock.advance({ days: 1 });
  assert.deepEqual(await broker.peekLockMany('q', 30), []);
  const dead = await broker.receiveAndDeleteMany(DEAD, 30);
  assert.deepEqual(bodies(dead), bodies(locked.filter((_, i) => i % 3 === 0)));
});

test('exactly one of two simultaneous completions of a message succeeds', async (t) => {
  const broker = await startWithBatch(t, 20);
  for (const message of await broker.peekLockMany('q', 20)) {
    const [one, other] = await Promise.all([
      broker.settle('q', [settlementOf(message, 'complete')]),
      broker.settle('q', [settlementOf(message, 'complete')]),
    ]);
    assert.deepEqual([one[0]?.settled, other[0]?.settled].sort(), [false, true]);
  }
});

test('a lock token that is twice in a call settles once and answers MessageLockLost the second time', async (t) => {
  const broker = await startWithBatch(t, 2);
  const message = await lock(broker);
  const twice = [settlementOf(message, 'complete'), settlementOf(message, 'complete')];
  const outcomes = await broker.settle('q', twice);
  assert.deepEqual(
    outcomes.map(({ settled, error }) => [settled, error?.code]),
    [
      [true, undefined],
      [false, 'MessageLockLost'],
    ],
  );
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['1']);
});

test('an old token of a message does not prevent its settlement by the valid token in the same call', async (t) => {
  const broker = await startQueue(t, 'x');
  const old = await lock(broker);
  assert.equal(await broker.abandon(old), 200);
  const live = await lock(broker);
  const outcomes = await broker.settle('q', [
    settlementOf(old, 'complete'),
    settlementOf(live, 'complete'),
  ]);
  assert.deepEqual(
    outcomes.map(({ settled }) => settled),
    [false, true],
  );
});

test('a receive call with settlements settles first and receives then', async (t) => {
  const broker = await startQueue(t, 'a', 'b', 'c');
  const [a, b] = [await lock(broker), await lock(broker)];
  const settlements = [
    settlementOf(a, 'complete'),
    settlementOf(b, 'abandon'),
    settlementOf(a, 'complete'),
  ];
  const answer = await broker.request('POST', 'q/messages/head?timeout=0&maxMessages=10', {
    body: JSON.stringify({ settlements }),
  });
  expectStatus(answer, 200);
  const both = answer.json<{
    settlements: { settled: boolean }[];
    messages: Parameters<typeof fromWire>[0][];
  }>();
  assert.deepEqual(
    both.settlements.map(({ settled }) => settled),
    [true, true, false],
  );
  const received = both.messages.map(fromWire);
  assert.deepEqual(bodies(received), ['b', 'c']);
  const outcomes = await broker.settle(
    'q',
    received.map((message) => settlementOf(message, 'complete')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
});
