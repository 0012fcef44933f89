import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';
import { isoInstant, settlementOf } from '../queues/queue.ts';
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
} from './partitioned.ts';

const ROUTES = [
  ['a plain queue', 'a partitioned queue', false, true],
  ['a partitioned queue', 'a plain queue', true, false],
  ['a partitioned queue', 'a partitioned queue', true, true],
] as const;

/** Keys and messages of each, and messages stored before the update. */
const SIZES = isMore() ? { keys: 8, ofKey: 3, stored: 48 } : { keys: 5, ofKey: 2, stored: 15 };

/** The queue `to`, and `from`, which forwards to it. */
async function startForward(
  t: TestContext,
  isFromPartitioned: boolean,
  isToPartitioned: boolean,
): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('to', isToPartitioned ? PARTITIONED : {}), 201);
  const settings = isFromPartitioned ? PARTITIONED : {};
  expectStatus(await broker.createQueue('from', { ...settings, ForwardTo: 'to' }), 201);
  return broker;
}

for (const [from, to, isFromPartitioned, isToPartitioned] of ROUTES) {
  test(`#P11 from ${from} to ${to}: the key of a forwarded message selects its partition`, async (t) => {
    const broker = await startForward(t, isFromPartitioned, isToPartitioned);
    const { keys, ofKey } = SIZES;
    // Messages sent directly show the partition of each key.
    for (let k = 0; k < keys; k++) {
      await sendKeyed(broker, `direct ${k}`, { PartitionKey: `key ${k}` }, 'to');
    }
    for (let i = 0; i < keys * ofKey; i++) {
      await sendKeyed(broker, `${i}`, { PartitionKey: `key ${i % keys}` }, 'from');
    }
    const messages = await peekAll(broker, 'to');
    assert.equal(messages.length, keys + keys * ofKey);
    assert.equal(byPartition(messages).size > 1, isToPartitioned);
    for (let k = 0; k < keys; k++) {
      const own = messages.filter(({ broker: { PartitionKey } }) => PartitionKey === `key ${k}`);
      assert.equal(new Set(own.map(partitionOf)).size, 1);
      const bodies = own.map(({ body }) => body);
      const forwarded = Array.from({ length: ofKey }, (_, round) => `${k + round * keys}`);
      assert.deepEqual(bodies, [`direct ${k}`, ...forwarded]);
    }
    assert.deepEqual(await peekAll(broker, 'from'), []);
  });

  test(`#P11 from ${from} to ${to}: forwarded messages without a key are spread over all partitions`, async (t) => {
    const broker = await startForward(t, isFromPartitioned, isToPartitioned);
    await fillEach(broker, 'from');
    const messages = await drain(broker, 'to');
    assert.equal(messages.length, PARTITIONS);
    assert.equal(byPartition(messages).size, isToPartitioned ? PARTITIONS : 1);
    const first = messages.map((one) => Number(one.broker['EnqueuedSequenceNumber']));
    const inFrom = new Set(first.map((number) => Math.floor(number / 2 ** 48)));
    assert.equal(inFrom.size, isFromPartitioned ? PARTITIONS : 1);
    assert.equal(new Set(first).size, PARTITIONS);
  });

  test(`#P11 from ${from} to ${to}: an update with ForwardTo moves the stored messages`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('to', isToPartitioned ? PARTITIONED : {}), 201);
    const settings: Record<string, string> = isFromPartitioned ? PARTITIONED : {};
    expectStatus(await broker.createQueue('from', settings), 201);
    // Several keys in one block of the source, which only a plain queue can have.
    for (let i = 0; i < SIZES.stored; i++) {
      await sendKeyed(broker, `${i}`, { SessionId: `s${i % 5}` }, 'from');
    }
    if (!isFromPartitioned) {
      const batch = Array.from({ length: 60 }, (_, i) => ({
        Body: `b${i}`,
        BrokerProperties: { SessionId: `s${i % 5}` },
      }));
      expectStatus(await broker.sendBatch('from', batch), 201);
    }
    const count = isFromPartitioned ? SIZES.stored : SIZES.stored + 60;
    expectStatus(await broker.updateQueue('from', { ForwardTo: 'to', ...settings }), 200);
    const messages = await peekAll(broker, 'to');
    assert.equal(new Set(messages.map(({ body }) => body)).size, count);
    assert.equal(messages.length, count);
    for (let s = 0; s < 5; s++) {
      const own = messages.filter(({ broker: { SessionId } }) => SessionId === `s${s}`);
      assert.equal(new Set(own.map(partitionOf)).size, 1);
    }
    assert.deepEqual(await peekAll(broker, 'from'), []);
  });
}

test('#P11 scheduled messages of a partitioned queue are forwarded when they come due', async (t) => {
  const broker = await startForward(t, true, true);
  const ScheduledEnqueueTimeUtc = isoInstant({ seconds: 60 });
  for (let i = 0; i < PARTITIONS; i++) {
    await sendKeyed(broker, `${i}`, { ScheduledEnqueueTimeUtc }, 'from');
  }
  assert.equal(byPartition(await peekAll(broker, 'from')).size, PARTITIONS);
  broker.clock.advance({ seconds: 70 });
  await broker.sweep();
  assert.equal((await drain(broker, 'to')).length, PARTITIONS);
});

test('#P11 the dead letters of all partitions are forwarded, each with its DeadLetterSource', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await createPartitioned(broker, 'to'), 201);
  // The elements of the description have a fixed order.
  const settings = { ForwardDeadLetteredMessagesTo: 'to' };
  expectStatus(await broker.createQueue('from', { ...PARTITIONED, ...settings }), 201);
  await fillEach(broker, 'from');
  const locked = await broker.peekLockMany('from', PARTITIONS);
  assert.equal(locked.length, PARTITIONS);
  await broker.settle(
    'from',
    locked.map((message) => settlementOf(message, 'deadLetter')),
  );
  const messages = await drain(broker, 'to');
  assert.equal(messages.length, PARTITIONS);
  assert.ok(messages.every((one) => one.broker['DeadLetterSource'] === 'from'));
});

test('#P11 a message that cannot be forwarded stays in its partition of the transfer dead-letter queue', async (t) => {
  const broker = await startForward(t, true, false);
  expectStatus(await broker.updateQueue('to', { Status: 'Disabled' }), 200);
  await fillEach(broker, 'from');
  const lost = await peekAll(broker, transfersOf('from'));
  assert.equal(byPartition(lost).size, PARTITIONS);
  assert.equal((await broker.runtimeProperties('from')).transferDeadLetter, PARTITIONS);
  assert.equal((await drain(broker, transfersOf('from'))).length, PARTITIONS);
});

test('#P1 all copies of a message have the same partition and sequence number', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', PARTITIONED);
  const names = ['a', 'b', 'c'];
  for (const name of names) await createSubscription(broker, subscription(name));
  for (let i = 0; i < PARTITIONS; i++) {
    expectStatus(await broker.send('t', `${i}`), 201);
    expectStatus(await broker.send('t', `k${i}`, { SessionId: `s${i % 4}` }), 201);
  }
  // Bodies that are too large for the blocks are stored once for the topic, in that partition.
  const large = Array.from({ length: 5 }, (_, i) => ({
    Body: `${i}`.repeat(3000) + Math.random(),
  }));
  expectStatus(await broker.sendBatch('t', large), 201);
  const seen = new Map<string, Set<number>>();
  for (const name of names) {
    const messages = await peekAll(broker, subscription(name));
    assert.equal(messages.length, 2 * PARTITIONS + 5);
    for (const { body, broker: properties } of messages) {
      seen.set(body, (seen.get(body) ?? new Set()).add(properties.SequenceNumber));
    }
    for (let s = 0; s < 4; s++) {
      const own = messages.filter(({ broker: { SessionId } }) => SessionId === `s${s}`);
      assert.equal(new Set(own.map(partitionOf)).size, 1);
    }
    assert.equal((await drain(broker, subscription(name))).length, 2 * PARTITIONS + 5);
  }
  for (const numbers of seen.values()) assert.equal(numbers.size, 1);
});

test('#P1 the scheduled messages of a partitioned topic come due in their own partitions', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', PARTITIONED);
  for (const name of ['a', 'b']) await createSubscription(broker, subscription(name));
  const ScheduledEnqueueTimeUtc = isoInstant({ seconds: 60 });
  for (let i = 0; i < PARTITIONS; i++) {
    await sendKeyed(broker, `${i}`, { ScheduledEnqueueTimeUtc }, 't');
  }
  broker.clock.advance({ seconds: 60 });
  const ofA = await drain(broker, subscription('a'));
  assert.equal(ofA.length, PARTITIONS);
  assert.equal(byPartition(ofA).size, PARTITIONS);
  assert.ok(ofA.every((one) => numberInPartition(one) === 2));
  broker.clock.advance({ seconds: 10 });
  await broker.sweep();
  assert.equal(byPartition(await peekAll(broker, subscription('b'))).size, PARTITIONS);
});

test('#P11 a batch with several keys that is forwarded to a partitioned topic reaches each subscription complete', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', PARTITIONED);
  for (const name of ['a', 'b']) await createSubscription(broker, subscription(name));
  expectStatus(await broker.createQueue('from', { ForwardTo: 't' }), 201);
  // The batch is one block of the plain queue; its messages go to several partitions of the topic, in
  // which they have the same numbers.
  const batch = Array.from({ length: 60 }, (_, i) => ({
    Body: `${i}`.padEnd(500, `${Math.random()}`),
    BrokerProperties: { PartitionKey: `key ${i % 20}` },
  }));
  expectStatus(await broker.sendBatch('from', batch), 201);
  for (const name of ['a', 'b']) {
    const messages = await drain(broker, subscription(name));
    const bodies = messages.map(({ body }) => body).sort();
    assert.deepEqual(bodies, batch.map(({ Body }) => Body).sort());
    assert.ok(byPartition(messages).size > 3);
  }
});
