import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedAllowance } from '../../../shared/broker/receive/shared-allowance.ts';
import { PartitionSelector } from '../../../shared/broker/routing/partition-selector.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import {
  partitionOfKey,
  placementKeyOf,
  sharedPlacementKey,
} from '../../../shared/domain/messages/partition.ts';
import { agesBy } from '../../support/ages.ts';

const PLAIN = { requiresDuplicateDetection: false };
const DETECTING = { requiresDuplicateDetection: true };

const ROWS = [
  [{ sessionId: 's', partitionKey: 's', messageId: 'm' }, 's', 's'],
  [{ sessionId: 's', messageId: 'm' }, 's', 's'],
  [{ partitionKey: 'p', messageId: 'm' }, 'p', 'p'],
  [{ messageId: 'm' }, undefined, 'm'],
  [{}, undefined, undefined],
  [{ sessionId: '', messageId: 'm' }, '', ''],
  [{ sessionId: '', partitionKey: 'p' }, 'p', 'p'],
] as const;

for (const [message, plain, detecting] of ROWS) {
  test(`the key of ${JSON.stringify(message)}`, () => {
    assert.equal(placementKeyOf(message, PLAIN), plain);
    assert.equal(placementKeyOf(message, DETECTING), detecting);
  });
}

test('an empty session id is a key in an entity that requires sessions', () => {
  const settings = { ...PLAIN, requiresSession: true };
  assert.equal(placementKeyOf({ sessionId: '', partitionKey: 'p' }, settings), '');
});

test('a batch has one key or none', () => {
  assert.equal(sharedPlacementKey([{ sessionId: 'a' }, { partitionKey: 'a' }], PLAIN), 'a');
  assert.equal(sharedPlacementKey([{ messageId: '1' }, { messageId: '2' }], PLAIN), undefined);
  for (const [batch, settings] of [
    [[{ sessionId: 'a' }, { sessionId: 'b' }], PLAIN],
    [[{ sessionId: 'a' }, {}], PLAIN],
    [[{}, { partitionKey: 'a' }], PLAIN],
    [[{ messageId: '1' }, { messageId: '2' }], DETECTING],
    [[{ messageId: '1' }, {}], DETECTING],
  ] as const) {
    assert.throws(
      () => sharedPlacementKey(batch, settings),
      (error: unknown) => error instanceof BrokerError && error.code === 'InvalidOperation',
    );
  }
});

test('similar keys are spread evenly', () => {
  for (const partitions of [2, 16]) {
    const counts = Array.from({ length: partitions }, () => 0);
    const keys = 4000;
    for (let i = 0; i < keys; i++) {
      const partition = partitionOfKey(`order-${i}`, partitions);
      counts[partition] = (counts[partition] ?? 0) + 1;
    }
    const mean = keys / partitions;
    assert.ok(Math.min(...counts) > mean * 0.7 && Math.max(...counts) < mean * 1.3, `${counts}`);
  }
});

test('the partition of a key never changes, since old messages are stored there', () => {
  const places = ['', 'a', 'b', 'order-1', 'order-2', 'ключ', '🔑'].map((key) =>
    partitionOfKey(key, 16),
  );
  assert.deepEqual(places, [11, 3, 2, 12, 0, 8, 12]);
});

const ENTITY: Entity = {
  id: 'Zx3kPq0_',
  key: 'p',
  name: 'p',
  epoch: 1,
  generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
  createdAt: 0,
  updatedAt: 0,
  partitions: 4,
  description: { ...QUEUE_DEFAULTS, enablePartitioning: true },
};

test('partition selection goes round from a random start and skips a partition that refused, for a while', () => {
  let now = 0;
  const selector = new PartitionSelector(
    { bytes: () => Uint8Array.of(6) },
    agesBy(() => now),
  );
  const next = (count: number) => Array.from({ length: count }, () => selector.next(ENTITY));
  assert.deepEqual(next(5), [3, 0, 1, 2, 3]);
  selector.avoid(ENTITY, 1);
  assert.deepEqual(next(4), [0, 2, 3, 0]);
  now += 2000;
  assert.deepEqual(next(2), [1, 2]);
  for (const partition of [0, 1, 2, 3]) selector.avoid(ENTITY, partition);
  assert.deepEqual(next(2), [3, 0]);
});

test('several claims together take no more than one may', () => {
  const allowance = new SharedAllowance(10, 1000, 1000);
  assert.equal(allowance.take(4, 5000, 1), 4);
  assert.equal(allowance.take(1, 1, 1), 0);
  assert.equal(allowance.left, 0);
  const roomy = new SharedAllowance(10, 1000, 1000);
  assert.deepEqual([roomy.take(6, 100, 9), roomy.take(6, 100, 9), roomy.take(1, 1, 1)], [6, 4, 0]);
  roomy.giveBack(3, 0, 0);
  assert.deepEqual([roomy.left, roomy.take(5, 1, 1)], [3, 3]);
});

test('several claims together take no more than one answer can carry', () => {
  const allowance = new SharedAllowance(10, 1000, 600);
  assert.deepEqual([allowance.take(1, 1, 400), allowance.take(1, 1, 300)], [1, 0]);
  assert.deepEqual([allowance.left, allowance.take(1, 1, 200), allowance.left], [9, 1, 0]);
});

test('messages and bytes that claims do not use are available to other claims', () => {
  const allowance = new SharedAllowance(10, 1000, 1000);
  assert.equal(allowance.take(1, 1000, 1000), 1);
  assert.equal(allowance.left, 0);
  allowance.giveBack(1, 1000, 1000);
  assert.deepEqual([allowance.left, allowance.take(10, 1000, 1000)], [10, 10]);
});

test('a message that is too large beside others is allowed once claims have given back all that they took', () => {
  const allowance = new SharedAllowance(10, 1000, 1000);
  assert.equal(allowance.take(1, 10, 10), 1);
  assert.equal(allowance.take(1, 5000, 5000), 0);
  allowance.giveBack(1, 10, 10);
  assert.equal(allowance.take(1, 5000, 5000), 1);
});
