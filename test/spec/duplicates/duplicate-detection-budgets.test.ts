import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscriptions, createTopic, subscription } from '../../support/topic-entities.ts';
import { messageOf } from '../queues/queue.ts';

const DETECTING = { RequiresDuplicateDetection: 'true' };

/** Starts a broker whose caches hold its queues: `q` detects duplicates, and `plain` does not. */
async function startWarm(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  expectStatus(await broker.createQueue('plain'), 201);
  for (const queue of ['q', 'plain']) expectStatus(await broker.send(queue, 'warm'), 201);
  return broker;
}

const batchOf = (count: number, from = 0): readonly BatchMessage[] =>
  Array.from({ length: count }, (_, i) =>
    messageOf(`order ${from + i}`, { MessageId: `order-${from + i}` }),
  );

const send = (broker: TestBroker, batch: readonly BatchMessage[], path = 'q') =>
  broker.units(async () => expectStatus(await broker.sendBatch(path, batch), 201));

test('a small message costs 5 write units with duplicate detection, and its duplicate none', async (t) => {
  const broker = await startWarm(t);
  const first = await send(broker, batchOf(1));
  assert.deepEqual([first.write, first.roundTrips], [5, 3]);
  assert.ok(first.read <= 1, `${first.read} read units`);
  const { read, ...duplicate } = await send(broker, batchOf(1));
  assert.deepEqual(duplicate, { write: 0, requests: 1, roundTrips: 1 });
  assert.ok(read <= 1, `${read} read units`);
});

test('a message with the longest MessageId and PartitionKey costs 5 write units, too', async (t) => {
  const broker = await startWarm(t);
  expectStatus(await broker.createQueue('p', { ...DETECTING, EnablePartitioning: 'true' }), 201);
  const longest = { MessageId: '€'.repeat(128), PartitionKey: '€'.repeat(128) };
  const { write } = await send(broker, [messageOf('x', longest)], 'p');
  assert.equal(write, 5);
});

test('messages without a MessageId cost the same with and without duplicate detection', async (t) => {
  const broker = await startWarm(t);
  const bare = batchOf(100).map(({ Body }) => ({ Body: Body ?? '' }));
  const elsewhere = await send(broker, bare, 'plain');
  assert.deepEqual(await send(broker, bare), elsewhere);
  assert.deepEqual(
    await send(broker, bare.slice(0, 1)),
    await send(broker, bare.slice(0, 1), 'plain'),
  );
});

test('duplicate detection costs one write unit for each message of a batch, and two for the batch', async (t) => {
  const broker = await startWarm(t);
  const plain = await send(broker, batchOf(100), 'plain');
  const first = await send(broker, batchOf(100));
  t.diagnostic(`100 messages: ${first.write} write units, ${plain.write} without detection`);
  assert.equal(first.write, plain.write + 100 + 2);
  const duplicates = await send(broker, batchOf(100));
  t.diagnostic(`the same again: ${JSON.stringify(duplicates)}`);
  assert.equal(duplicates.write, 100);
});

test('duplicate detection costs two write units for a publication to two subscriptions', async (t) => {
  const broker = await startWarm(t);
  for (const [name, settings] of [
    ['t', DETECTING],
    ['other', {}],
  ] as const) {
    await createTopic(broker, name, settings);
    await createSubscriptions(broker, [subscription('a', name), subscription('b', name)]);
    expectStatus(await broker.send(name, 'warm'), 201);
  }
  const { write } = await send(broker, batchOf(1), 't');
  assert.equal(write, (await send(broker, batchOf(1), 'other')).write + 2);
});
