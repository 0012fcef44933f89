import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Item } from '../database.ts';
import { itemBytes } from '../sizes.ts';
import { key, number, putting, TABLE, TestDatabase } from './test-database.ts';

/** Bytes of a key with partition key `a` and a sort key of one letter: names and values. */
const KEY_BYTES = 6;

/** An item of a given size, in bytes. */
function sized(bytes: number, sk = 's'): Item {
  return { ...key(sk), d: { B: new Uint8Array(bytes - KEY_BYTES - 1) } };
}

interface Costing {
  readonly ConsumedCapacity?: { readonly CapacityUnits: number };
}

const TOTAL = { ReturnConsumedCapacity: 'TOTAL' };

function unitsOf(tables: TestDatabase, name: Parameters<TestDatabase['run']>[0], input: object) {
  return tables.run<Costing>(name, { ...input, ...TOTAL }).ConsumedCapacity?.CapacityUnits;
}

test('the size of an item is the size of its names and values', () => {
  assert.equal(itemBytes(key('s')), KEY_BYTES);
  const sizes: readonly (readonly [Item[string], number])[] = [
    [{ S: 'é\u{1f600}' }, 6],
    [{ B: new Uint8Array(10) }, 10],
    [{ BOOL: true }, 1],
    [{ NULL: true }, 1],
    [{ N: '0' }, 1],
    [{ N: '7' }, 2],
    [{ N: '1000000' }, 2],
    [{ N: '1790000000001' }, 8],
    [{ N: '-12' }, 3],
    [{ M: {} }, 3],
    [{ M: { ab: { S: 'x' }, c: { M: {} } } }, 3 + (1 + 2 + 1) + (1 + 1 + 3)],
    [{ L: [{ S: 'xy' }, { BOOL: false }] }, 3 + (1 + 2) + (1 + 1)],
    [{ NS: ['1', '22'] }, 4],
  ];
  for (const [value, bytes] of sizes) {
    assert.equal(itemBytes({ x: value }), 1 + bytes, JSON.stringify(value));
  }
});

test('a write costs one unit per started KB of the larger item before and after it', () => {
  const tables = new TestDatabase();
  const put = (bytes: number) => unitsOf(tables, 'PutItemCommand', { Item: sized(bytes) });

  assert.equal(put(1024), 1);
  assert.equal(put(1025), 2);
  assert.equal(put(100), 2);
  assert.equal(put(100), 1);
  assert.equal(put(5000), 5);
  const update = { Key: key('s'), UpdateExpression: 'REMOVE d' };
  assert.equal(unitsOf(tables, 'UpdateItemCommand', update), 5);
  assert.equal(unitsOf(tables, 'UpdateItemCommand', update), 1);
  put(3000);
  assert.equal(unitsOf(tables, 'DeleteItemCommand', { Key: key('s') }), 3);
  assert.equal(unitsOf(tables, 'DeleteItemCommand', { Key: key('s') }), 1);
});

test('a read costs one unit per started 4 KB, and half of that if it may be stale', () => {
  const tables = new TestDatabase();
  const get = (ConsistentRead: boolean) =>
    unitsOf(tables, 'GetItemCommand', { Key: key('s'), ConsistentRead });

  assert.deepEqual([get(true), get(false)], [1, 0.5]);
  tables.run('PutItemCommand', { Item: sized(4096) });
  tables.now += 5000;
  assert.deepEqual([get(true), get(false)], [1, 0.5]);
  tables.run('PutItemCommand', { Item: sized(4097) });
  assert.deepEqual([get(true), get(false)], [2, 1]);
});

test('a query is charged by the total size of its items, whatever attributes it returns', () => {
  const tables = new TestDatabase();
  const query = (options: object) =>
    unitsOf(tables, 'QueryCommand', {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: 'a' } },
      ...options,
    });

  assert.deepEqual([query({ ConsistentRead: true }), query({})], [1, 0.5]);
  for (const sk of ['1', '2', '3', '4']) {
    tables.run('PutItemCommand', { Item: sized(3000, sk) });
  }
  assert.equal(query({ ConsistentRead: true }), 3);
  assert.equal(query({ ConsistentRead: true, ProjectionExpression: 'sk' }), 3);
  assert.equal(query({ ConsistentRead: true, Limit: 1 }), 1);
  assert.equal(query({ ConsistentRead: false }), 1.5);
});

test('a batch costs as much as its items cost alone', () => {
  const tables = new TestDatabase();
  const items = [sized(1025, '1'), sized(100, '2')];
  const written = tables.database.execute('BatchWriteItemCommand', {
    RequestItems: { [TABLE]: items.map((Item) => ({ PutRequest: { Item } })) },
    ...TOTAL,
  });
  assert.deepEqual(written, {
    UnprocessedItems: {},
    ConsumedCapacity: [{ TableName: TABLE, CapacityUnits: 3 }],
  });

  const read = tables.database.execute('BatchGetItemCommand', {
    RequestItems: { [TABLE]: { Keys: ['1', '2', '3'].map((sk) => key(sk)), ConsistentRead: true } },
    ...TOTAL,
  });
  assert.deepEqual(read, {
    Responses: { [TABLE]: items },
    UnprocessedKeys: {},
    ConsumedCapacity: [{ TableName: TABLE, CapacityUnits: 3 }],
  });
});

test('a transaction costs twice as much as its writes cost alone, in each table', () => {
  const tables = new TestDatabase();
  tables.put('deleted', { d: { B: new Uint8Array(2000) } });
  const Item = key('s');
  const prepared = tables.prepare([
    putting('s', { d: { B: new Uint8Array(1024) } }),
    { Put: { TableName: 'entities', Item } },
    { Delete: { TableName: TABLE, Key: key('deleted') } },
    {
      ConditionCheck: {
        TableName: TABLE,
        Key: key('none'),
        ConditionExpression: 'attribute_not_exists(pk)',
      },
    },
  ]);

  assert.deepEqual(tables.database.commit(prepared), {
    ConsumedCapacity: [
      { TableName: TABLE, CapacityUnits: 2 * (2 + 2 + 1) },
      { TableName: 'entities', CapacityUnits: 2 },
    ],
  });
});

test('without ReturnConsumedCapacity the answer has no units', () => {
  const tables = new TestDatabase();
  assert.deepEqual(tables.run('PutItemCommand', { Item: { ...key('s'), n: number(1) } }), {});
});
