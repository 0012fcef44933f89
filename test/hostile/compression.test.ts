import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import type { BrokerDependencies } from '../../shared/broker/dependencies.ts';
import { type Arrival, matchArriving } from '../../shared/broker/routing/match-subscriptions.ts';
import { logOf } from '../../shared/domain/blocks/log.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import {
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { brotli, type Compression } from '../../shared/storage/blocks/compression.ts';
import { publishInSteps } from '../../shared/storage/fan-out/publish-in-steps.ts';
import type { StoreContext } from '../../shared/storage/store-context.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../support/topic-entities.ts';

/** Row 22: only what will be stored is compressed, and other clients do not wait meanwhile. */

const KB = 1024;
const MB = 1024 * KB;

/** The product's compression; records the sizes of its inputs. */
function watched(): { readonly compression: Compression; readonly sizes: readonly number[] } {
  const sizes: number[] = [];
  const compress = (bytes: Uint8Array) => {
    sizes.push(bytes.byteLength);
    return brotli.compress(bytes);
  };
  return { compression: { ...brotli, compress }, sizes };
}

/** Whether this thread did other work while `work` was under way. */
async function letsOthersWork(work: () => Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  const wasUnderWay = !isDone;
  await working;
  return wasUnderWay;
}

const ENTITY = {
  id: 'abcdefgh',
  key: 't',
  name: 't',
  epoch: 0,
  generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
  createdAt: 0,
  updatedAt: 0,
};
const LOG = logOf({ ...ENTITY, description: TOPIC_DEFAULTS }, 'main', 0);

/** Answers the reads that precede a write; a write would fail. */
const contextOf = (compression: Compression) =>
  ({
    compression,
    clock: { now: () => 0 },
    random: { bytes: (count: number) => new Uint8Array(count) },
  }) as unknown as StoreContext;

const isTooMuch = (error: unknown) =>
  error instanceof BrokerError &&
  error.code === 'MessageSizeExceeded' &&
  /Send fewer messages in a batch/.test(error.message);

test('row 22: a publication that is too large is refused before it is compressed', async () => {
  const { compression, sizes } = watched();
  const publish = (bytes: Uint8Array) =>
    publishInSteps(contextOf(compression), LOG, [{ d: { B: bytes } }], {
      conditions: [],
      removal: [],
      peer: {},
    });
  await assert.rejects(publish(Buffer.alloc(BUDGETS.stored.intentBytes)), isTooMuch);
  assert.deepEqual(sizes, []);
  await assert.rejects(publish(randomBytes(500 * KB)), isTooMuch);
  assert.equal(sizes.length, 1);
});

test('row 22: a batch of too many segments is refused before it is compressed', async (t) => {
  const { compression, sizes } = watched();
  const broker = await startBroker(t, { compression });
  expectStatus(await broker.createQueue('q'), 201);
  const batch = Array.from({ length: 101 }, (_, i) => ({
    Body: 'x'.repeat(KB),
    BrokerProperties: {
      ScheduledEnqueueTimeUtc: new Date(broker.clock.now() + (i + 1) * 60_000).toUTCString(),
    },
  }));
  const refused = await broker.sendBatch('q', batch);
  expectStatus(refused, 400);
  assert.match(refused.text, /The batch takes 202 writes; the limit is/);
  assert.deepEqual(sizes, []);
});

test('row 22: a large message is compressed once for all subscriptions', async (t) => {
  const { compression, sizes } = watched();
  const broker = await startBroker(t, { compression });
  await createTopic(broker);
  for (const name of ['a', 'b', 'c', 'd']) await createSubscription(broker, subscription(name));
  expectStatus(await broker.send('t', randomBytes(100 * KB)), 201);
  assert.equal(sizes.filter((bytes) => bytes > 100 * KB).length, 1);
});

test('row 22: a batch that makes too many copies is refused while the copies are made', async () => {
  const topic = { ...ENTITY, description: TOPIC_DEFAULTS };
  const rule = { name: 'all', filter: { kind: 'true' }, createdAt: 0 } as const;
  const subscribed = Array.from({ length: 2000 }, () => ({
    entity: { ...ENTITY, description: SUBSCRIPTION_DEFAULTS },
    rules: [rule],
  }));
  const dependencies = {
    subscriptions: { of: async () => subscribed },
    clock: { now: () => 0 },
    monotonicNow: () => 0,
  } as unknown as BrokerDependencies;
  const most = BUDGETS.request.copies / subscribed.length;
  const messages = Array.from({ length: most + 1 }, (_, i) => ({
    messageId: `${i}`,
    body: new Uint8Array(),
    properties: {},
  }));
  const match = (count: number, how: Arrival) =>
    matchArriving(dependencies, topic, messages.slice(0, count), how);
  await assert.rejects(match(most + 1, 'sent'), isTooMuch);
  assert.equal((await match(most, 'sent')).matched.numbers, most);
  assert.equal((await match(most + 1, 'forwarded')).matched.numbers, most + 1);
});

test('row 22: large data, also in few compressed bytes, is compressed and decompressed on another thread', async () => {
  const much = randomBytes(MB);
  assert.equal(await letsOthersWork(() => brotli.compress(much)), true);
  assert.equal(await letsOthersWork(() => brotli.compress(much.subarray(0, KB))), false);
  const zeros = await brotli.compress(new Uint8Array(MB));
  assert.ok(zeros.byteLength < 100);
  assert.equal(await letsOthersWork(() => brotli.decompress(zeros)), true);
  assert.deepEqual(Buffer.from(await brotli.decompress(zeros)), Buffer.alloc(MB));
  const little = await brotli.compress(much.subarray(0, KB));
  assert.equal(await letsOthersWork(() => brotli.decompress(little)), false);
});

test('row 22: the decompressed size of stored bytes is bounded', async () => {
  const bomb = brotliCompressSync(new Uint8Array(BUDGETS.stored.decompressedBytes + 1), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 0 },
  });
  await assert.rejects(brotli.decompress(bomb), { code: 'ERR_BUFFER_TOO_LARGE' });
});
