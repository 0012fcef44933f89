import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { type PartitionClient, partitionClient } from '../../support/partition-faults.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { isoInstant, settlementOf } from '../queues/queue.ts';
import {
  byPartition,
  drain,
  fillByBatches,
  fillEach,
  keysByPartition,
  PARTITIONED,
  PARTITIONS,
  partitionOf,
  peekAll,
  sendKeyed,
  startPartitioned,
} from './partitioned.ts';

interface Started extends PartitionClient {
  readonly broker: TestBroker;
}

/** A partitioned queue `p` with a DynamoDB client that can refuse the requests of single partitions. */
async function start(t: TestContext): Promise<Started> {
  const faults = partitionClient();
  t.after(() => faults.client.destroy());
  return { ...faults, broker: await startPartitioned(t, {}, { client: faults.client }) };
}

const CLOSED = 3;
/** How long sends avoid a partition that refused one. */
const AVOIDED_MS = 2000;

test('#P7 while a partition is unavailable, other partitions accept messages without a key', async (t) => {
  const { broker, close } = await start(t);
  close([CLOSED]);
  await fillEach(broker, 'p', 2 * PARTITIONS);
  const batched = await fillByBatches(broker, isMore() ? 40 : 4);
  close([]);
  const messages = await drain(broker);
  assert.equal(messages.length, 2 * PARTITIONS + batched);
  assert.equal(new Set(messages.map(({ body }) => body)).size, messages.length);
  const groups = byPartition(messages);
  assert.deepEqual([groups.size, groups.has(CLOSED)], [PARTITIONS - 1, false]);
});

test('#P7 a partition that is available again gets messages again', async (t) => {
  const { broker, close } = await start(t);
  close([CLOSED]);
  await fillEach(broker);
  close([]);
  const isUsed = async () => byPartition(await peekAll(broker)).has(CLOSED);
  await fillEach(broker);
  assert.equal(await isUsed(), false);
  broker.time.skip(AVOIDED_MS);
  await fillEach(broker);
  assert.equal(await isUsed(), true);
});

test('#P7 #P8 #P12 a send with the key of an unavailable partition is refused, and can be retried later', async (t) => {
  const { broker, close } = await start(t);
  const keys = await keysByPartition(broker);
  close([CLOSED]);
  for (const [partition, PartitionKey] of keys.entries()) {
    const answer = await broker.send('p', 'keyed', { PartitionKey });
    expectStatus(answer, partition === CLOSED ? 503 : 201);
    if (partition === CLOSED) {
      assert.equal(answer.headers.get('x-dynabus-error'), 'ServiceBusy');
    }
  }
  close([]);
  assert.equal((await peekAll(broker)).length, PARTITIONS - 1);
  await sendKeyed(broker, 'keyed', { PartitionKey: keys[CLOSED] });
});

test('#P7 a send is refused after at most four partitions if all are unavailable', async (t) => {
  const { broker, close, requests } = await start(t);
  const everywhere = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  close(everywhere);
  requests();
  expectStatus(await broker.send('p', 'x'), 503);
  assert.ok(requests().size <= 4);
  close([]);
  assert.deepEqual(await peekAll(broker), []);
});

test('#P7 a send with an unknown outcome is not retried in another partition', async (t) => {
  const { broker, loseAnswers } = await start(t);
  loseAnswers(true);
  for (let i = 0; i < PARTITIONS; i++) {
    const answer = await broker.send('p', `${i}`);
    assert.ok(answer.status >= 500, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), 'ServiceTimeout');
  }
  loseAnswers(false);
  const bodies = (await drain(broker)).map(({ body }) => body);
  assert.equal(new Set(bodies).size, bodies.length);
  assert.equal(bodies.length, PARTITIONS);
});

test('#P7 scheduled messages without a key also go to the available partitions', async (t) => {
  const { broker, close } = await start(t);
  close([CLOSED]);
  const ScheduledEnqueueTimeUtc = isoInstant({ seconds: 60 });
  for (let i = 0; i < PARTITIONS; i++) await sendKeyed(broker, `${i}`, { ScheduledEnqueueTimeUtc });
  close([]);
  broker.clock.advance({ seconds: 60 });
  assert.equal((await drain(broker)).length, PARTITIONS);
});

test('#P7 a topic stores a message in an available partition, which is the same for all copies', async (t) => {
  const { broker, close } = await start(t);
  await createTopic(broker, 't', PARTITIONED);
  for (const name of ['a', 'b']) await createSubscription(broker, subscription(name));
  close([CLOSED]);
  await fillEach(broker, 't');
  close([]);
  const ofA = await drain(broker, subscription('a'));
  const ofB = await drain(broker, subscription('b'));
  const placesOf = (messages: typeof ofA) =>
    messages.map((one) => `${one.body}: ${one.broker.SequenceNumber}`).sort();
  assert.equal(ofA.length, PARTITIONS);
  assert.deepEqual(placesOf(ofA), placesOf(ofB));
  assert.ok(!byPartition(ofA).has(CLOSED));
});

for (const failing of ['all', 'writes', 'reads'] as const) {
  test(`#P7 a receive returns the messages of other partitions while one refuses (${failing})`, async (t) => {
    const { broker, close } = await start(t);
    await fillEach(broker, 'p', 2 * PARTITIONS);
    close([CLOSED], failing);
    const taken: string[] = [];
    for (let tries = 0; taken.length < 2 * (PARTITIONS - 1) && tries < 300; tries++) {
      const some = await broker.receiveAndDeleteMany('p', 1 + (tries % 5));
      assert.ok(some.length <= 1 + (tries % 5));
      assert.ok(some.every((one) => partitionOf(one) !== CLOSED));
      taken.push(...some.map(({ body }) => body));
    }
    assert.equal(new Set(taken).size, 2 * (PARTITIONS - 1));
    // The broker cannot know whether that partition has messages.
    expectStatus(await broker.request('DELETE', 'p/messages/head?timeout=0'), 503);
    close([]);
    assert.equal((await drain(broker)).length, 2);
  });
}

test('#P14 a peek shows the page that partitions in front fill while one behind refuses', async (t) => {
  const { broker, close } = await start(t);
  const keys = await keysByPartition(broker);
  await sendKeyed(broker, 'in front', { PartitionKey: keys[CLOSED - 1] });
  close([CLOSED]);
  assert.deepEqual(
    (await broker.peek('p', { max: 1 })).map(({ body }) => body),
    ['in front'],
  );
  expectStatus(await broker.request('GET', 'p/messages?maxMessages=2'), 503);
});

test('#P12 a settlement is refused only for the messages of the unavailable partition', async (t) => {
  const { broker, close } = await start(t);
  await fillEach(broker);
  const locked = await broker.peekLockMany('p', PARTITIONS);
  assert.equal(locked.length, PARTITIONS);
  close([CLOSED]);
  const outcomes = await broker.settle(
    'p',
    locked.map((message) => settlementOf(message, 'complete')),
  );
  close([]);
  for (const [i, message] of locked.entries()) {
    const isClosed = partitionOf(message) === CLOSED;
    assert.equal(outcomes[i]?.error?.code, isClosed ? 'ServiceBusy' : undefined);
    assert.equal(outcomes[i]?.settled, !isClosed);
  }
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual((await drain(broker)).map(partitionOf), [CLOSED]);
});
