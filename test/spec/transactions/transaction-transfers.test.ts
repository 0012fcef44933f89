import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { counts, reasons, transfersOf } from '../../support/topic-entities.ts';
import { bodies, lock, startQueue } from '../queues/queue.ts';
import { commit, requireRefused, sending, settling } from './transaction.ts';

/** Messages that are sent via an entity to a disabled destination (semantics U8). */

const CLOSED = [
  'MessagingEntityDisabled',
  "The destination 'closed' of the transfer is currently disabled.",
];

/** `q` with some messages, a queue that refuses sends, and an open one. */
async function start(t: TestContext, ...sent: readonly string[]): Promise<TestBroker> {
  const broker = await startQueue(t, {}, ...sent);
  expectStatus(await broker.createQueue('closed', { Status: 'SendDisabled' }), 201);
  expectStatus(await broker.createQueue('open'), 201);
  return broker;
}

test('#123 #C12 a message sent via a queue to a disabled queue goes to the first queue’s transfer dead-letter queue', async (t) => {
  const broker = await start(t, 'a');
  const outcomes = await commit(broker, [
    settling('complete', 'q', await lock(broker)),
    sending('closed', 'x', 'y'),
    sending('open', 'z'),
  ]);
  assert.deepEqual(outcomes, [
    { settled: true },
    { sequenceNumbers: [null, null] },
    { sequenceNumbers: [1] },
  ]);
  const transfers = transfersOf('q');
  assert.deepEqual(await reasons(broker, transfers), [
    ['x', ...CLOSED],
    ['y', ...CLOSED],
  ]);
  assert.deepEqual(await counts(broker, 'q'), { Message: 2, TransferDeadLetter: 2 });
  assert.deepEqual(await counts(broker, 'closed'), {});
  assert.deepEqual(bodies(await broker.peek('open')), ['z']);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(transfers, 9)), ['x', 'y']);
});

test('#123 a message sent via a subscription to a disabled queue goes to that subscription’s transfer dead-letter queue', async (t) => {
  const broker = await start(t);
  const path = 't/Subscriptions/s';
  expectStatus(await broker.putEntity('t', 'TopicDescription', {}), 201);
  expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  expectStatus(await broker.send('t', 'a'), 201);
  const a = await lock(broker, path);
  await commit(broker, [settling('complete', path, a), sending('closed', 'x'), sending('t', 'b')]);
  assert.deepEqual(await reasons(broker, transfersOf(path)), [['x', ...CLOSED]]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(path, 9)), ['b']);
});

test('a refused transaction stores nothing in the transfer dead-letter queue', async (t) => {
  const broker = await start(t, 'a');
  const a = await lock(broker);
  assert.equal(await broker.complete(a), 200);
  await requireRefused(t, broker, [sending('closed', 'x'), settling('complete', 'q', a)], {
    status: 404,
    code: 'MessageLockLost',
    operation: 1,
  });
});

test('a transaction without settlements that sends to a disabled queue is refused', async (t) => {
  const broker = await start(t);
  await requireRefused(t, broker, [sending('q', 'a'), sending('closed', 'x')], {
    status: 403,
    code: 'MessagingEntityDisabled',
    operation: 1,
  });
});

test('a transaction that settles in a disabled queue and sends to the same queue is refused', async (t) => {
  const broker = await start(t, 'a');
  expectStatus(await broker.updateQueue('q', { Status: 'SendDisabled' }), 200);
  const a = await lock(broker);
  await requireRefused(t, broker, [settling('complete', 'q', a), sending('q', 'x')], {
    status: 403,
    code: 'MessagingEntityDisabled',
    operation: 1,
  });
});
