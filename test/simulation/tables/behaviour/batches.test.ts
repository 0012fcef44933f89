import assert from 'node:assert/strict';
import { test } from 'node:test';
import { key, TABLE, TestDatabase } from './test-database.ts';

interface BatchAnswer {
  readonly Responses?: Record<string, object[]>;
  readonly UnprocessedKeys?: Record<string, { Keys: object[] }>;
  readonly UnprocessedItems?: Record<string, object[]>;
}

const KEYS = Array.from({ length: 10 }, (_, i) => key(String(i)));

function read(tables: TestDatabase): BatchAnswer {
  const RequestItems = { [TABLE]: { Keys: KEYS, ConsistentRead: true } };
  return tables.database.execute('BatchGetItemCommand', { RequestItems });
}

function write(tables: TestDatabase): BatchAnswer {
  const RequestItems = { [TABLE]: KEYS.map((Item) => ({ PutRequest: { Item } })) };
  return tables.database.execute('BatchWriteItemCommand', { RequestItems });
}

/** Random numbers for a batch of ten that leave all items but the first, all but the last, or every second. */
const DRAWS = [
  [0, 0, ...Array.from({ length: 9 }, () => 0)],
  [0, 0.99, ...Array.from({ length: 9 }, () => 0)],
  [0, 0.5, ...Array.from({ length: 9 }, (_, i) => (i % 2) / 2)],
];

test('a batch may leave some items unprocessed, never all, and returns them', () => {
  for (const [draws, left] of [
    [DRAWS[0], 9],
    [DRAWS[1], 9],
    [DRAWS[2], 5],
  ] as const) {
    const tables = new TestDatabase({ unprocessedChance: 0.5 });
    tables.fractions.push(...(draws ?? []));
    const written = write(tables);
    assert.equal(written.UnprocessedItems?.[TABLE]?.length, left);
    assert.equal(tables.query({ ConsistentRead: true }).length, KEYS.length - left);

    tables.fractions.push(...(draws ?? []));
    const { Responses, UnprocessedKeys } = read(tables);
    assert.equal(UnprocessedKeys?.[TABLE]?.Keys.length, left);
    assert.ok((Responses?.[TABLE]?.length ?? 0) <= KEYS.length - left);
  }
});

test('a batch processes all of its items if the random draw says so', () => {
  const tables = new TestDatabase({ unprocessedChance: 0.5 });
  tables.fractions.push(0.5);
  assert.deepEqual(write(tables), { UnprocessedItems: {} });
  tables.fractions.push(0.5);
  assert.deepEqual(read(tables), { Responses: { [TABLE]: KEYS }, UnprocessedKeys: {} });
});
