import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { counts, reasons, transfersOf } from '../../support/topic-entities.ts';
import { bodies, lock, startQueue } from '../queues/queue.ts';
import { commit, requireRefused, sending, settling } from './transaction.ts';

/** What becomes of messages that are sent via an entity to one that does not take them (semantics U8). */

const CLOSED = [
  'MessagingEntityDisabled',
  "The destination 'closed' of the transfer is currently disabled.",
];

/** `q` with some messages, and a queue that takes none. */
async function start(t: TestContext, ...sent: readonly string[]): Promise<TestBroker> {
  const broker = await startQueue(t, {}, ...sent);
  expectStatus(await broker.createQueue('closed', { Status: 'SendDisabled' }), 201);
  expectStatus(await broker.createQueue('open'), 201);
  return broker;
}

test('#123 #C12 what is sent via a queue to a disabled one stays in the transfer dead-letter queue of the first', async (t) => {
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

test('#123 what is sent via a subscription stays in that one’s transfer dead-letter queue', async (t) => {
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

test('a transaction that is refused leaves nothing in the transfer dead-letter queue', async (t) => {
  const broker = await start(t, 'a');
  const a = await lock(broker);
  assert.equal(await broker.complete(a), 200);
  await requireRefused(t, broker, [sending('closed', 'x'), settling('complete', 'q', a)], {
    status: 404,
    code: 'MessageLockLost',
    operation: 1,
  });
});

test('where nothing is settled, nothing is sent via anything: a disabled queue refuses', async (t) => {
  const broker = await start(t);
  await requireRefused(t, broker, [sending('q', 'a'), sending('closed', 'x')], {
    status: 403,
    code: 'MessagingEntityDisabled',
    operation: 1,
  });
});

test('the queue whose messages are settled refuses what is sent to itself', async (t) => {
  const broker = await start(t, 'a');
  expectStatus(await broker.updateQueue('q', { Status: 'SendDisabled' }), 200);
  const a = await lock(broker);
  await requireRefused(t, broker, [settling('complete', 'q', a), sending('q', 'x')], {
    status: 403,
    code: 'MessagingEntityDisabled',
    operation: 1,
  });
});
