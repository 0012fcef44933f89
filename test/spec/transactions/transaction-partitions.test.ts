import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type Received } from '../../support/test-broker.ts';
import { bodies, lock, startQueue } from '../queues/queue.ts';
import { commit, requireRefused, sending, settling } from './transaction.ts';

/** Transactions with partitioned entities: all operations use one partition (semantics U10, U11, U12). */

const PARTITIONED = { EnablePartitioning: 'true' };
const INVALID = { status: 400, code: 'InvalidOperation' };
/** A key of the first of 16 partitions, and a key of another one. */
const KEY = 'k26';
const ELSEWHERE = 'k0';

const keyed = (Body: string, BrokerProperties: object) => ({ Body, BrokerProperties });

/** The message with the lock token that it would have in the next partition. */
function elsewhere(message: Received): Received {
  const { LockToken } = message.broker;
  const first = (Number.parseInt(LockToken.slice(0, 2), 16) + 1).toString(16).padStart(2, '0');
  return { ...message, broker: { ...message.broker, LockToken: `${first}${LockToken.slice(2)}` } };
}

test('#132 #P9 all messages that a transaction sends to a partitioned queue must have the same key', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  for (const messages of [
    ['without'],
    [keyed('a', { PartitionKey: KEY }), 'without'],
    [keyed('a', { PartitionKey: KEY }), keyed('b', { PartitionKey: ELSEWHERE })],
    // Different keys are refused, even if they belong to the same partition.
    [keyed('a', { PartitionKey: KEY }), keyed('b', { PartitionKey: 'k37' })],
    [keyed('a', { PartitionKey: KEY }), keyed('b', { MessageId: KEY, SessionId: 's' })],
    [keyed('a', { MessageId: '1' }), keyed('b', { MessageId: '2' })],
  ]) {
    const refusal = await requireRefused(t, broker, [sending('q', ...messages)], INVALID);
    assert.match(refusal.message, /partitioned entity 'q' must have/);
    const each = messages.map((message) => sending('q', message));
    await requireRefused(t, broker, each, INVALID);
  }
  await commit(broker, [
    sending('q', keyed('a', { PartitionKey: KEY, MessageId: 'x' })),
    sending('q', keyed('b', { SessionId: KEY }), keyed('c', { MessageId: KEY })),
  ]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['a', 'b', 'c']);
});

test('#133 #P10 a transaction that sends to two sessions of a partitioned queue is refused', async (t) => {
  const broker = await startQueue(t, { ...PARTITIONED, RequiresSession: 'true' });
  const two = [keyed('a', { SessionId: 's1' }), keyed('b', { SessionId: 's2' })];
  const refusal = await requireRefused(t, broker, [sending('q', ...two)], INVALID);
  assert.match(refusal.message, /must have the same key; 's1' and 's2' differ/);
});

test('#P10 a message for a partitioned queue with sessions must have a SessionId', async (t) => {
  const broker = await startQueue(t, { ...PARTITIONED, RequiresSession: 'true' });
  const operations = [sending('q', keyed('a', { PartitionKey: 's' }))];
  const refusal = await requireRefused(t, broker, operations, INVALID);
  assert.match(refusal.message, /must have a SessionId/);
});

test('#134 #P10 a message in a transaction whose SessionId and PartitionKey differ is refused', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  const operations = [sending('q', keyed('a', { SessionId: 's', PartitionKey: 'p' }))];
  await requireRefused(t, broker, operations, { ...INVALID, operation: 0 });
});

test('#P9 a transaction that completes messages of two partitions is refused', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  await commit(broker, [sending('q', ...['a', 'b'].map((b) => keyed(b, { PartitionKey: KEY })))]);
  const [a, b] = await broker.peekLockMany('q', 2);
  assert.ok(a && b);
  const operations = [settling('complete', 'q', a), settling('complete', 'q', elsewhere(b))];
  const refusal = await requireRefused(t, broker, operations, INVALID);
  assert.match(refusal.message, /cannot span several partitions/);
  await commit(broker, [settling('complete', 'q', a), settling('complete', 'q', b)]);
});

test('#P9 the sends and settlements of a transaction must use the same partition', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  await commit(broker, [sending('q', keyed('a', { PartitionKey: KEY }))]);
  const a = await lock(broker);
  const refused = [
    settling('complete', 'q', a),
    sending('q', keyed('b', { PartitionKey: ELSEWHERE })),
  ];
  await requireRefused(t, broker, refused, INVALID);
  await commit(broker, [
    settling('complete', 'q', a),
    sending('q', keyed('b', { PartitionKey: KEY })),
  ]);
  assert.deepEqual(bodies(await broker.peek('q')), ['b']);
});

test('#P9 ViaPartitionKey is the key in the entity that is settled, PartitionKey the key in the destination', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  for (const name of ['one', 'two']) expectStatus(await broker.createQueue(name), 201);
  await commit(broker, [sending('q', keyed('a', { PartitionKey: KEY }))]);
  const a = await lock(broker);
  const done = settling('complete', 'q', a);
  const via = (PartitionKey: string, ViaPartitionKey?: string) =>
    keyed(PartitionKey, { PartitionKey, ViaPartitionKey });
  for (const operations of [
    [done, sending('one', via('pk2'))],
    [done, sending('one', via('pk2', ELSEWHERE))],
    [done, sending('one', via('pk2', KEY)), sending('two', via('pk3', 'k37'))],
  ]) {
    await requireRefused(t, broker, operations, INVALID);
  }
  await commit(broker, [done, sending('one', via('pk2', KEY)), sending('two', via('pk3', KEY))]);
  for (const [name, key] of [
    ['one', 'pk2'],
    ['two', 'pk3'],
  ] as const) {
    const [arrived] = await broker.peek(name);
    assert.equal(arrived?.broker['PartitionKey'], key);
  }
});

test('#P9 without settlements, the via entity is the destination of the first send', async (t) => {
  const broker = await startQueue(t, PARTITIONED);
  expectStatus(await broker.createQueue('other'), 201);
  const first = sending('q', keyed('a', { PartitionKey: KEY }));
  await requireRefused(t, broker, [first, sending('other', 'b')], INVALID);
  await commit(broker, [first, sending('other', keyed('b', { ViaPartitionKey: KEY }))]);
  await commit(broker, [sending('other', 'c'), first]);
  assert.deepEqual(bodies(await broker.peek('other')), ['b', 'c']);
});

test('#P9 for messages of a subscription of a partitioned topic, the topic is the via entity', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.putEntity('topic', 'TopicDescription', PARTITIONED), 201);
  const path = 'topic/Subscriptions/s';
  expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  expectStatus(await broker.send('topic', 'a', { PartitionKey: KEY }), 201);
  const a = await lock(broker, path);
  const done = settling('complete', path, a);
  await requireRefused(t, broker, [done, sending('q', 'b')], INVALID);
  await requireRefused(
    t,
    broker,
    [done, sending('topic', keyed('b', { PartitionKey: ELSEWHERE }))],
    INVALID,
  );
  await commit(broker, [done, sending('q', keyed('b', { ViaPartitionKey: KEY }))]);
  assert.deepEqual(bodies(await broker.peek('q')), ['b']);
});
