import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { duplicateKeyOf, firstOccurrences } from '../../../shared/domain/messages/duplicates.ts';
import {
  fromDecisionItem,
  fromRecordItem,
  indexesAsBits,
  numberAt,
  toDecisionItem,
  toRecordItem,
} from '../../../shared/storage/duplicates/records.ts';
import { itemSize } from '../../../shared/storage/dynamodb/item-size.ts';
import { GARBAGE_AFTER } from '../../../shared/storage/schema/tables.ts';

const SPREAD = { enablePartitioning: true };
const WHOLE = { enablePartitioning: false };
const UNTIL = Date.UTC(2026, 0, 1, 0, 10, 0, 1);
const DAY_SECONDS = 24 * 60 * 60;
const ENTITY = 'Zx3kPq0_';
const NAME = 'kT0aQb3xW9Lm.7';

const message = (
  messageId: string | undefined,
  key: { sessionId?: string; partitionKey?: string },
) => ({
  body: new Uint8Array(),
  properties: {},
  ...(messageId === undefined ? {} : { messageId }),
  ...key,
});

test('records and decisions are read as they were written', () => {
  for (const record of [
    { until: UNTIL, name: NAME },
    { until: UNTIL, name: NAME, number: (3n << 48n) | 17n },
    { until: UNTIL, name: NAME, batch: { index: 0, size: 4500 } },
  ]) {
    assert.deepEqual(fromRecordItem(toRecordItem(ENTITY, 'm', record)), record);
  }
  for (const decision of [
    { isStored: false, first: undefined, dropped: undefined },
    { isStored: true, first: undefined, dropped: undefined },
    { isStored: true, first: 7n, dropped: new Uint8Array([5]) },
  ]) {
    assert.deepEqual(fromDecisionItem(toDecisionItem(ENTITY, NAME, decision, UNTIL)), decision);
  }
});

test('a record is kept until it expires, and a decision for a day longer', () => {
  const record = toRecordItem(ENTITY, 'm', { until: UNTIL, name: NAME });
  const decision = toDecisionItem(ENTITY, NAME, { isStored: false }, UNTIL);
  const second = Number(record[GARBAGE_AFTER]?.N);
  assert.ok(second * 1000 >= UNTIL && (second - 1) * 1000 < UNTIL, `${second}`);
  assert.equal(Number(decision[GARBAGE_AFTER]?.N), second + DAY_SECONDS);
});

test('the largest record and the largest decision cost one write unit each', () => {
  const longest = '€'.repeat(128);
  const key = duplicateKeyOf(message(longest, { sessionId: longest }), SPREAD) ?? '';
  const number = (15n << 48n) | 0xffff_ffff_ffffn;
  const batch = { index: 4499, size: 4500 };
  const record = toRecordItem(ENTITY, key, { until: UNTIL, name: NAME, number, batch });
  assert.ok(itemSize(record) <= 1024, `${itemSize(record)} bytes`);
  const dropped = indexesAsBits([4499]);
  const decision = toDecisionItem(ENTITY, NAME, { isStored: true, first: number, dropped }, UNTIL);
  assert.ok(itemSize(decision) <= 1024, `${itemSize(decision)} bytes`);
});

test('the number of a message in a batch counts the stored messages before it', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 200 }), (isDropped) => {
      const indexes = [...isDropped.keys()].filter((index) => isDropped[index]);
      const decision = { isStored: true, first: 100n, dropped: indexesAsBits(indexes) };
      let expected = 100n;
      for (const [index, dropped] of isDropped.entries()) {
        if (!dropped) assert.equal(numberAt(decision, index), expected++);
      }
    }),
  );
});

test('in a partitioned entity two messages are duplicates only if both id and partition key are equal', () => {
  const text = fc.string({ maxLength: 3, unit: fc.constantFrom('a', '1', ':', '') });
  const key = fc.oneof(
    fc.constant({}),
    text.map((partitionKey) => ({ partitionKey })),
    text.map((sessionId) => ({ sessionId })),
  );
  fc.assert(
    fc.property(text, key, text, key, (id, one, otherId, other) => {
      const keyOf = (from: { sessionId?: string; partitionKey?: string }) =>
        from.sessionId ?? from.partitionKey;
      const isSame = id === otherId && keyOf(one) === keyOf(other);
      const keys = [
        duplicateKeyOf(message(id, one), SPREAD),
        duplicateKeyOf(message(otherId, other), SPREAD),
      ];
      assert.equal(keys[0] === keys[1], isSame);
    }),
    { numRuns: 2000 },
  );
});

test('without partitions the message id is the duplicate key, and without an id there is none', () => {
  assert.equal(duplicateKeyOf(message('m', { partitionKey: 'k' }), WHOLE), 'm');
  assert.equal(duplicateKeyOf(message(undefined, { partitionKey: 'k' }), WHOLE), undefined);
  assert.equal(duplicateKeyOf(message(undefined, { partitionKey: 'k' }), SPREAD), undefined);
});

test('each index of a batch maps to the first index with an equal key', () => {
  assert.deepEqual(
    firstOccurrences(['a', undefined, 'b', 'a', undefined, 'a']),
    [0, 1, 2, 0, 4, 0],
  );
});
