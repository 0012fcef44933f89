import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { LARGE_BATCH } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { drainBodies } from '../../support/topic-entities.ts';
import { messageOf } from '../queues/queue.ts';

/** Senders send the same messages through two processes at the same time. */

const SEED = seedOfRun();
const DETECTING = { RequiresDuplicateDetection: 'true' };
const ROUNDS = isMore() ? 25 : 10;

async function startTwo(t: TestContext): Promise<readonly [TestBroker, TestBroker]> {
  const broker = await startBroker(t);
  const beside = await startBroker(t, { beside: broker });
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  return [broker, beside];
}

const batchOf = (ids: readonly string[]): readonly BatchMessage[] =>
  ids.map((MessageId) => messageOf(MessageId, { MessageId }));

async function sendBatch(broker: TestBroker, ids: readonly string[]): Promise<void> {
  expectStatus(await broker.sendBatch('q', batchOf(ids)), 201);
}

test('one message that four senders send at the same time is stored once, and all sends succeed', async (t) => {
  const brokers = await startTwo(t);
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([...brokers, ...brokers].map((broker) => sendBatch(broker, [`m${round}`])));
  }
  const expected = Array.from({ length: ROUNDS }, (_, round) => `m${round}`);
  assert.deepEqual(await drainBodies(brokers[0], 'q'), expected);
});

test('two batches of the same messages, one in reverse, are stored once', async (t) => {
  const [broker, beside] = await startTwo(t);
  for (let round = 0; round < ROUNDS; round++) {
    const ids = Array.from({ length: 10 }, (_, i) => `${round}-${i}`);
    await Promise.all([sendBatch(broker, ids), sendBatch(beside, [...ids].reverse())]);
    // The order shows which of the two batches was stored; it is stored whole.
    const found = await drainBodies(broker, 'q');
    assert.ok([ids.join(), [...ids].reverse().join()].includes(found.join()), found.join());
  }
});

test(`overlapping batches and single messages are stored once (seed ${SEED})`, async (t) => {
  const [broker, beside] = await startTwo(t);
  const random = new LoadRandom(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    const ids = Array.from({ length: 12 }, (_, i) => `${round}-${i}`);
    const sends = Array.from({ length: 6 }, () =>
      random
        .order(ids.length)
        .slice(0, random.between(1, 8))
        .map((place) => ids[place] ?? ''),
    );
    await Promise.all(sends.map((chosen, i) => sendBatch(i % 2 ? broker : beside, chosen)));
    const found = await drainBodies(beside, 'q');
    assert.deepEqual([...found].sort(), [...new Set(sends.flat())].sort());
  }
});

test('two large batches of the same messages are stored once', async (t) => {
  const [broker, beside] = await startTwo(t);
  const ids = Array.from({ length: LARGE_BATCH }, (_, i) => `${i}`);
  await Promise.all([sendBatch(broker, ids), sendBatch(beside, ids)]);
  const { active } = await broker.runtimeProperties('q');
  assert.equal(active, ids.length);
});

test('a message that two senders repeat when its window ends is stored once more', async (t) => {
  const brokers = await startTwo(t);
  for (let round = 1; round <= ROUNDS; round++) {
    await Promise.all(brokers.map((broker) => sendBatch(broker, ['m'])));
    await Promise.all(brokers.map((broker) => sendBatch(broker, ['n', 'o'])));
    brokers[0].clock.advance({ minutes: 10 });
  }
  const found = await drainBodies(brokers[0], 'q');
  assert.deepEqual(found, Array.from({ length: ROUNDS }, () => ['m', 'n', 'o']).flat());
});
