import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import type { Answer } from '../../support/api-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { eachOf } from '../../support/topic-entities.ts';
import { requireRefusal } from '../management/refusal.ts';
import { messageOf, settlementOf } from '../queues/queue.ts';
import { sending, transact } from '../transactions/transaction.ts';
import {
  byPartition,
  createPartitioned,
  drain,
  fillEach,
  numberInPartition,
  PARTITIONED,
  PARTITIONS,
  partitionOf,
  peekAll,
  sendKeyed,
  startPartitioned,
} from './partitioned.ts';

test('#P7 messages without a key go to the partitions in turn', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker, 'p', 2 * PARTITIONS);
  const groups = byPartition(await peekAll(broker));
  assert.equal(groups.size, PARTITIONS);
  for (const messages of groups.values()) assert.equal(messages.length, 2);
});

test('#P7 each partition has its own sequence numbers without gaps, with the partition in their top bits', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker, 'p', 3 * PARTITIONS);
  const groups = byPartition(await peekAll(broker));
  assert.deepEqual(
    [...groups.keys()],
    Array.from({ length: PARTITIONS }, (_, partition) => partition),
  );
  for (const messages of groups.values())
    assert.deepEqual(messages.map(numberInPartition), [1, 2, 3]);
});

test('#P7 each process begins at a random partition', async (t) => {
  const first = await startPartitioned(t);
  for (let process = 0; process < 8; process++) {
    const broker = await startBroker(t, { beside: first, seed: `process ${process}` });
    await sendKeyed(broker, 'x');
  }
  const messages = await peekAll(first);
  assert.equal(messages.length, 8);
  const firsts = new Set(messages.map(partitionOf));
  assert.ok(firsts.size > 2, `the processes began at ${[...firsts]}`);
});

for (const key of ['SessionId', 'PartitionKey']) {
  test(`#P6 #P7 messages with the same ${key} are stored in one partition, in order`, async (t) => {
    const broker = await startPartitioned(t);
    for (let i = 0; i < 40; i++) await sendKeyed(broker, `${i}`, { [key]: `key ${i % 10}` });
    const messages = await peekAll(broker);
    assert.equal(messages.length, 40);
    const partitions = new Set<number>();
    for (let k = 0; k < 10; k++) {
      const own = messages.filter(({ broker: { [key]: value } }) => value === `key ${k}`);
      assert.equal(new Set(own.map(partitionOf)).size, 1);
      assert.deepEqual(
        own.map(({ body }) => body),
        [k, k + 10, k + 20, k + 30].map(String),
      );
      partitions.add(own.map(partitionOf)[0] ?? -1);
    }
    assert.ok(partitions.size > 3, `ten keys are in ${partitions.size} partitions`);
  });
}

test('#P6 a SessionId and a PartitionKey with the same value are the same key', async (t) => {
  const broker = await startPartitioned(t);
  for (const keys of [
    { SessionId: 'a' },
    { PartitionKey: 'a' },
    { SessionId: 'a', PartitionKey: 'a' },
  ]) {
    await sendKeyed(broker, 'x', keys);
  }
  assert.equal(byPartition(await peekAll(broker)).size, 1);
});

test('an empty SessionId is ignored if the message has a PartitionKey', async (t) => {
  const broker = await startPartitioned(t, { RequiresDuplicateDetection: 'true' });
  const [x, y] = [{ PartitionKey: 'x' }, { PartitionKey: 'y', SessionId: '' }];
  await sendKeyed(broker, 'one', { ...x, MessageId: 'm' });
  await sendKeyed(broker, 'again', { ...x, SessionId: '', MessageId: 'm' });
  await sendKeyed(broker, 'two', { ...x, SessionId: '', MessageId: 'n' });
  const found = await peekAll(broker);
  assert.deepEqual(found.map(({ body }) => body).sort(), ['one', 'two']);
  assert.equal(byPartition(found).size, 1);
  const sent = (keys: object, MessageId: string) => messageOf('t', { ...keys, MessageId });
  const same = [sent(x, '1'), sent({ ...x, SessionId: '' }, '2')];
  expectStatus(await transact(broker, [sending('p', ...same)]), 200);
  requireRefusal(await transact(broker, [sending('p', sent(x, '3'), sent(y, '4'))]), 400, /differ/);
});

test('#P6 #134 a message whose SessionId and PartitionKey differ is refused and not stored', async (t) => {
  const broker = await startPartitioned(t);
  const keys = { SessionId: 'a', PartitionKey: 'b' };
  const refusal = /PartitionKey 'b' .*SessionId 'a'/;
  requireRefusal(await broker.send('p', 'x', keys), 400, refusal);
  requireRefusal(await broker.sendBatch('p', [messageOf('x', keys)]), 400, refusal);
  assert.deepEqual(await peekAll(broker), []);
});

test('#P6 without duplicate detection the MessageId is not a key', async (t) => {
  const broker = await startPartitioned(t);
  for (let i = 0; i < PARTITIONS; i++) await sendKeyed(broker, 'x', { MessageId: 'same' });
  assert.equal(byPartition(await peekAll(broker)).size, PARTITIONS);
});

test('#P6 with duplicate detection the MessageId is the key of a message that has no other key', async (t) => {
  const broker = await startPartitioned(t, { RequiresDuplicateDetection: 'true' });
  // Messages of each key, and messages without a key.
  const { ofKey, ids } = isMore() ? { ofKey: 20, ids: 20 } : { ofKey: 5, ids: 10 };
  for (let i = 0; i < ofKey; i++) {
    await sendKeyed(broker, 'by its key', { MessageId: `${i}`, PartitionKey: 'a' });
    await sendKeyed(broker, 'by its session', { MessageId: `s${i}`, SessionId: 'a' });
  }
  assert.equal(byPartition(await peekAll(broker)).size, 1);
  assert.equal((await drain(broker)).length, 2 * ofKey);

  for (let i = 0; i < ids; i++) await sendKeyed(broker, `${i}`, { MessageId: `id ${i}` });
  broker.clock.advance({ days: 1 });
  for (let i = ids - 1; i >= 0; i--) await sendKeyed(broker, `${i}`, { MessageId: `id ${i}` });
  const partitions = new Map<string, number[]>();
  for (const one of await peekAll(broker)) {
    const { MessageId } = one.broker;
    partitions.set(MessageId, [...(partitions.get(MessageId) ?? []), partitionOf(one)]);
  }
  const pairs = [...partitions.values()];
  assert.equal(pairs.length, ids);
  for (const pair of pairs) assert.deepEqual(pair, [pair[0], pair[0]]);
  assert.ok(new Set(pairs.flat()).size > 3);
});

test('#P6 with duplicate detection a MessageId that the broker generated is not a key', async (t) => {
  const broker = await startPartitioned(t, { RequiresDuplicateDetection: 'true' });
  await fillEach(broker);
  assert.equal(byPartition(await peekAll(broker)).size, PARTITIONS);
});

test('#P7 a batch without keys is stored in one partition, and the next batch in another', async (t) => {
  const broker = await startPartitioned(t);
  for (let batch = 0; batch < 4; batch++) {
    const messages = Array.from({ length: 50 }, (_, i) => ({ Body: `${batch}.${i}` }));
    expectStatus(await broker.sendBatch('p', messages), 201);
  }
  const groups = byPartition(await peekAll(broker));
  assert.equal(groups.size, 4);
  for (const messages of groups.values()) {
    assert.equal(new Set(messages.map(({ body }) => body.split('.')[0])).size, 1);
  }
});

test('#P6 a batch whose messages have different keys is refused as a whole', async (t) => {
  const broker = await startPartitioned(t);
  const refusal = /need the same SessionId or PartitionKey, or none: one has 'a', another has/;
  const a = messageOf('a', { PartitionKey: 'a' });
  for (const other of [messageOf('b', { PartitionKey: 'b' }), { Body: 'without' }]) {
    const refused = await broker.sendBatch('p', [a, other]);
    requireRefusal(refused, 400, refusal);
    assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
  }
  assert.deepEqual(await peekAll(broker), []);
  const together = [a, messageOf('session', { SessionId: 'a' })];
  expectStatus(await broker.sendBatch('p', together), 201);
  assert.equal(byPartition(await peekAll(broker)).size, 1);
});

test('#P2 EnablePartitioning is set when a queue is created, cannot be changed, and is off by default', async (t) => {
  const broker = await startPartitioned(t);
  expectStatus(await broker.createQueue('plain'), 201);
  assert.match((await broker.request('GET', 'plain')).text, /<EnablePartitioning>false</);
  requireRefusal(
    await broker.updateQueue('plain', PARTITIONED),
    400,
    /Partitioning can't be changed/,
  );
  requireRefusal(await broker.updateQueue('p', {}), 400, /Partitioning can't be changed/);
  await fillEach(broker, 'plain');
  assert.equal(byPartition(await peekAll(broker, 'plain')).size, 1);
  expectStatus(await broker.updateQueue('p', { MaxDeliveryCount: '3', ...PARTITIONED }), 200);
  await fillEach(broker);
  assert.equal(byPartition(await peekAll(broker)).size, PARTITIONS);
});

/** Requires an answer with the description of an entity of this size. */
function requireShown(answer: Answer, status: number, megabytes: string): void {
  expectStatus(answer, status);
  assert.ok(answer.text.includes(`<MaxSizeInMegabytes>${megabytes}<`), answer.text);
}

test('#P5 MaxSizeInMegabytes of 1 to 5 GB is multiplied by sixteen, and an update accepts the product', async (t) => {
  const broker = await startBroker(t);
  for (const size of [1, 2, 3, 4, 5]) {
    const settings = { MaxSizeInMegabytes: String(size * 1024) };
    const created = await createPartitioned(broker, `q${size}`, settings);
    const sum = String(size * 1024 * 16);
    requireShown(created, 201, sum);
    requireShown(await broker.request('GET', `q${size}`), 200, sum);
    const echo = { MaxSizeInMegabytes: sum, ...PARTITIONED };
    requireShown(await broker.updateQueue(`q${size}`, echo), 200, sum);
    requireShown(await broker.request('GET', `q${size}`), 200, sum);
  }
  const tooLarge = { MaxSizeInMegabytes: '10240' };
  requireRefusal(await createPartitioned(broker, 'more', tooLarge), 400, /not one of 1024/);
});

test('#P2 #P5 a partitioned queue of the Premium tier has two partitions and the requested size', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium' });
  for (const size of [1, 2, 3, 4, 5, 10, 20, 40, 80]) {
    const MaxSizeInMegabytes = String(size * 1024);
    const created = await createPartitioned(broker, `q${size}`, { MaxSizeInMegabytes });
    requireShown(created, 201, MaxSizeInMegabytes);
    const updated = await broker.updateQueue(`q${size}`, { MaxSizeInMegabytes, ...PARTITIONED });
    requireShown(updated, 200, MaxSizeInMegabytes);
    requireShown(await broker.request('GET', `q${size}`), 200, MaxSizeInMegabytes);
  }
  await fillEach(broker, 'q1');
  const groups = byPartition(await drain(broker, 'q1'));
  assert.deepEqual([...groups.keys()].sort(), [0, 1]);
  for (const messages of groups.values()) assert.equal(messages.length, PARTITIONS / 2);
});

test('#P15 a namespace can have a hundred partitioned queues and topics, and further plain ones', async (t) => {
  const broker = await startBroker(t);
  const names = Array.from({ length: 100 }, (_, i) => `e${i}`);
  await eachOf(names, async (name) => {
    const kind = Number(name.slice(1)) % 2 === 0 ? 'QueueDescription' : 'TopicDescription';
    expectStatus(await broker.putEntity(name, kind, PARTITIONED), 201);
  });
  requireRefusal(
    await createPartitioned(broker, 'one-more'),
    403,
    /SubCode=40300.*The maximum number of resources of type `EnablePartioning == true` has been reached or exceeded/,
  );
  expectStatus(await broker.createQueue('plain'), 201);
  expectStatus(await broker.request('DELETE', 'e0'), 200);
  expectStatus(await createPartitioned(broker, 'one-more'), 201);
});

test('#P12 the counts of a queue are the sums of its partitions', async (t) => {
  const broker = await startPartitioned(t, { MaxDeliveryCount: '1' });
  await fillEach(broker, 'p', 2 * PARTITIONS);
  const ScheduledEnqueueTimeUtc = new Date(broker.clock.now() + 60_000).toUTCString();
  for (let i = 0; i < 5; i++) await sendKeyed(broker, 'later', { ScheduledEnqueueTimeUtc });
  const locked = await broker.peekLockMany('p', PARTITIONS);
  assert.equal(locked.length, PARTITIONS);
  const outcomes = await broker.settle(
    'p',
    locked.map((message) => settlementOf(message, 'deadLetter')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  const { total, active, deadLetter, scheduled } = await broker.runtimeProperties('p');
  assert.deepEqual([total, active, deadLetter, scheduled], [37, 16, 16, 5]);
});

test('#P12 deleting and purging a queue affects all of its partitions', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker);
  await broker.purge('p');
  assert.deepEqual(await drain(broker), []);
  await fillEach(broker);
  expectStatus(await broker.request('DELETE', 'p'), 200);
  expectStatus(await createPartitioned(broker, 'p'), 201);
  assert.deepEqual(await drain(broker), []);
  assert.deepEqual(await peekAll(broker), []);
});

test('#P4 a partitioned queue accepts an old, a current and no api-version', async (t) => {
  const broker = await startPartitioned(t);
  for (const query of ['?api-version=2013-10', '?api-version=2021-05', '?timeout=60', '']) {
    expectStatus(await broker.request('POST', `p/messages${query}`, { body: 'x' }), 201);
  }
  for (const query of ['?api-version=2013-10&timeout=0', '?timeout=0', '?timeout=15']) {
    const received = await broker.request('DELETE', `p/messages/head${query}`);
    assert.deepEqual([received.status, received.text], [200, 'x']);
  }
});
