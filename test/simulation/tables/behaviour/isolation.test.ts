import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Item } from '../database.ts';
import { key, TABLE, TestDatabase } from './test-database.ts';

/** Stored items share no objects with requests and answers. */

function item(): Item {
  return {
    ...key('s'),
    b: { B: new Uint8Array([1, 2, 3]) },
    m: { M: { b: { B: new Uint8Array([4]) }, l: { L: [{ S: 'x' }] } } },
    c: { NS: ['1', '2'] },
  };
}

/** Changes all attributes of an item in place. */
function mutate(given: Item | undefined): void {
  assert.ok(given);
  given['b']?.B?.fill(9);
  given['m']?.M?.['b']?.B?.fill(9);
  given['m']?.M?.['l']?.L?.push({ S: 'y' });
  given['c']?.NS?.pop();
  given['x'] = { S: 'x' };
}

function stored(tables: TestDatabase): Item | undefined {
  return tables.get('s', { consistent: true });
}

test('a change of a written item does not change the stored one', () => {
  const tables = new TestDatabase();
  const put = item();
  tables.run('PutItemCommand', { Item: put });
  mutate(put);
  assert.deepEqual(stored(tables), item());

  const value = item()['m'] as Item[string];
  tables.run('UpdateItemCommand', {
    Key: key('s'),
    UpdateExpression: 'SET n = :n',
    ExpressionAttributeValues: { ':n': value },
  });
  value.M?.['b']?.B?.fill(9);
  assert.deepEqual(stored(tables)?.['n'], item()['m']);
});

test('a change of the items of a prepared transaction does not change what it writes', () => {
  const tables = new TestDatabase();
  const Item = item();
  const prepared = tables.prepare([{ Put: { TableName: TABLE, Item } }]);
  mutate(Item);
  tables.database.commit(prepared);
  assert.deepEqual(stored(tables), item());
});

test('a change of an item that was read does not change the stored one', () => {
  const tables = new TestDatabase();
  tables.run('PutItemCommand', { Item: item() });

  mutate(stored(tables));
  const { Items } = tables.run<{ Items: Item[] }>('QueryCommand', {
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: 'a' } },
    ProjectionExpression: 'b, m, c',
  });
  mutate(Items[0]);
  const batch = tables.database.execute('BatchGetItemCommand', {
    RequestItems: { [TABLE]: { Keys: [key('s')] } },
  }) as { Responses: Record<string, Item[]> };
  mutate(batch.Responses[TABLE]?.[0]);
  const update = { Key: key('s'), UpdateExpression: 'REMOVE nothing', ReturnValues: 'ALL_NEW' };
  mutate(tables.run<{ Attributes: Item }>('UpdateItemCommand', update).Attributes);
  mutate(tables.database.items(TABLE)[0]);
  assert.throws(
    () =>
      tables.run('PutItemCommand', {
        Item: key('s'),
        ConditionExpression: 'attribute_not_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    (error: { Item?: Item }) => {
      mutate(error.Item);
      return true;
    },
  );

  assert.deepEqual(stored(tables), item());
});

test('an update does not change older versions', () => {
  const tables = new TestDatabase();
  tables.run('PutItemCommand', { Item: item() });
  tables.now += 10;
  tables.run('UpdateItemCommand', {
    Key: key('s'),
    UpdateExpression: 'SET m.n = :n REMOVE m.b DELETE c :c',
    ExpressionAttributeValues: { ':n': { N: '1' }, ':c': { NS: ['1'] } },
  });

  tables.fractions.push(0.01);
  assert.deepEqual(tables.get('s'), item());
});
