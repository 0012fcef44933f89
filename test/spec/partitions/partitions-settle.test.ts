import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import { requireRefusal } from '../management/refusal.ts';
import { settlementOf, settleOne } from '../queues/queue.ts';
import {
  byPartition,
  drain,
  fillEach,
  PARTITIONS,
  partitionOf,
  peekAll,
  startPartitioned,
} from './partitioned.ts';

test('#P1 a batch delete is refused for a partitioned queue', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker);
  const enqueuedBefore = new Date(broker.clock.now() + 1000).toISOString();
  const refused = await broker.post('p', '$delete', { maxMessages: 10, enqueuedBefore });
  requireRefusal(refused, 400, /Batch delete is not supported for an entity with partitioning/);
  assert.equal((await peekAll(broker)).length, PARTITIONS);
});

test('#P1 messages of all partitions are completed, abandoned, deferred, dead-lettered and renewed', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker, 'p', 4 * PARTITIONS);
  const locked = [];
  for (let i = 0; i < 8; i++) locked.push(...(await broker.peekLockMany('p', 8)));
  assert.equal(locked.length, 4 * PARTITIONS);
  const renewed = await broker.post('p', '$renew', {
    lockTokens: locked.map(({ broker: { LockToken } }) => LockToken),
  });
  expectStatus(renewed, 200);
  const kinds = ['complete', 'abandon', 'defer', 'deadLetter'] as const;
  const outcomes = await broker.settle(
    'p',
    locked.map((message, i) => settlementOf(message, kinds[i % 4] ?? 'complete')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  const { active, deadLetter } = await broker.runtimeProperties('p');
  assert.deepEqual([active, deadLetter], [2 * PARTITIONS, PARTITIONS]);
  const states = (await peekAll(broker)).map(({ broker: { State } }) => State);
  assert.equal(states.filter((state) => state === 'Deferred').length, PARTITIONS);
  assert.equal((await drain(broker)).length, PARTITIONS);
  const dead = await peekAll(broker, 'p/$deadletterqueue');
  assert.equal(dead.length, PARTITIONS);
  const sequenceNumbers = dead.slice(0, 3).map(({ broker: { SequenceNumber } }) => SequenceNumber);
  const named = await broker.post('p/$deadletterqueue', '$resubmit', { sequenceNumbers }, 200);
  assert.deepEqual(named.json(), { resubmitted: 3 });
  const put = await broker.resubmit('p/$deadletterqueue');
  assert.equal(put, PARTITIONS - 3);
  const again = await drain(broker);
  assert.deepEqual(again.map(partitionOf).sort(), dead.map(partitionOf).sort());
});

test('#P1 a receive of deferred messages is refused for sequence numbers of different partitions', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker, 'p', 2 * PARTITIONS);
  const locked = await broker.peekLockMany('p', 2 * PARTITIONS);
  for (const message of locked) await settleOne(broker, message, 'defer', {}, 'p');
  const groups = [...byPartition(locked).values()];
  const [one, other] = groups.map((group) =>
    group.map(({ broker: { SequenceNumber } }) => SequenceNumber),
  );
  assert.ok(one !== undefined && other !== undefined);
  requireRefusal(
    await broker.receiveDeferredRaw('p', [...one, ...other]),
    400,
    /ReceiveBatch of sequence numbers from different partitions is not supported for an entity with partitioning enabled\./,
  );
  for (const numbers of [one, other]) {
    const taken = await broker.receiveDeferred('p', numbers, 'receiveAndDelete');
    assert.equal(taken.length, numbers.length);
  }
});

test('#P1 operator actions by sequence number reach messages of every partition', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker);
  const shown = await peekAll(broker);
  const numbers = shown.map(({ broker: { SequenceNumber } }) => SequenceNumber);
  const done = await broker.deadLetterByNumber('p', numbers);
  assert.ok(done.every(Boolean));
  assert.equal((await broker.runtimeProperties('p')).deadLetter, PARTITIONS);
  const [beyond] = await broker.deleteByNumber('p', [20 * 2 ** 48 + 1]);
  assert.equal(beyond, false);
});
