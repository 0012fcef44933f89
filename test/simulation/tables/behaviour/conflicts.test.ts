import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { key, number, putting, TABLE, TestDatabase } from './test-database.ts';

/** The codes of the cancellation reasons of a transaction. */
function reasonsOf(work: () => unknown): readonly unknown[] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof TransactionCanceledException)) throw error;
    return (error.CancellationReasons ?? []).map(({ Code }) => Code);
  }
  return [];
}

test('every single write of an item that a transaction holds is refused until the commit', () => {
  const tables = new TestDatabase();
  tables.put('s', { n: number(1) });
  const prepared = tables.prepare([putting('s', { n: number(2) }), putting('new')]);

  const writes = [
    () => tables.put('s'),
    () => tables.delete('s'),
    () => tables.put('new'),
    () =>
      tables.run('UpdateItemCommand', {
        Key: key('s'),
        UpdateExpression: 'SET n = :n',
        ExpressionAttributeValues: { ':n': number(3) },
      }),
  ];
  for (const write of writes) {
    assert.throws(write, (error: TransactionConflictException) => {
      assert.ok(error instanceof TransactionConflictException);
      assert.equal(error.$metadata.httpStatusCode, 400);
      return true;
    });
  }

  tables.database.commit(prepared);
  for (const write of writes) write();
});

test('other items, also of the same collection, can be written while a transaction holds an item', () => {
  const tables = new TestDatabase();
  tables.prepare([putting('s')]);

  tables.put('t');
  tables.put('s', {}, 'b');

  assert.ok(tables.get('t', { consistent: true }));
});

test('another transaction on a held item is cancelled, with a reason for each entry', () => {
  const tables = new TestDatabase();
  const first = tables.prepare([putting('s')]);

  const reasons = reasonsOf(() => tables.prepare([putting('t'), putting('s')]));

  assert.deepEqual(reasons, ['None', 'TransactionConflict']);
  tables.database.commit(first);
  tables.database.commit(tables.prepare([putting('t'), putting('s')]));
});

test('a cancelled transaction holds nothing', () => {
  const tables = new TestDatabase();
  const condition = { ConditionExpression: 'attribute_exists(pk)' };
  const reasons = reasonsOf(() => tables.prepare([putting('s'), putting('t', {}, condition)]));

  assert.deepEqual(reasons, ['None', 'ConditionalCheckFailed']);
  tables.put('s');
  tables.put('t');
});

test('a condition check in a transaction holds its item, too', () => {
  const tables = new TestDatabase();
  tables.put('s');
  const check = {
    TableName: TABLE,
    Key: key('s'),
    ConditionExpression: 'attribute_exists(pk)',
  };
  const prepared = tables.prepare([{ ConditionCheck: check }, putting('t')]);

  assert.throws(() => tables.delete('s'), TransactionConflictException);
  tables.database.commit(prepared);
  tables.delete('s');
});

test('reads show the old items until the commit of a transaction', () => {
  const tables = new TestDatabase();
  tables.put('s', { n: number(1) });
  const prepared = tables.prepare([putting('s', { n: number(2) }), putting('t')]);

  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '1');
  assert.deepEqual(tables.query({ ConsistentRead: true }), ['s']);

  tables.database.commit(prepared);
  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '2');
  assert.deepEqual(tables.query({ ConsistentRead: true }), ['s', 't']);
});

test('a batch leaves a held item unprocessed, and writes the others', () => {
  const tables = new TestDatabase();
  tables.prepare([putting('s')]);
  const requests = ['s', 't'].map((sk) => ({ PutRequest: { Item: key(sk) } }));

  const { UnprocessedItems } = tables.database.execute('BatchWriteItemCommand', {
    RequestItems: { [TABLE]: requests },
  }) as { UnprocessedItems: object };

  assert.deepEqual(UnprocessedItems, { [TABLE]: [requests[0]] });
  assert.deepEqual(tables.query({ ConsistentRead: true }), ['t']);
});

test('a refused write returns the existing item if the request asks for it', () => {
  const tables = new TestDatabase();
  tables.put('s', { n: number(1) });
  const condition = { ConditionExpression: 'attribute_not_exists(pk)' };
  const shown = { ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
  const put = (options: object) => () =>
    tables.run('PutItemCommand', { Item: key('s'), ...options });

  for (const [options, item] of [
    [condition, undefined],
    [shown, { ...key('s'), n: number(1) }],
  ] as const) {
    assert.throws(put(options), (error: ConditionalCheckFailedException) => {
      assert.ok(error instanceof ConditionalCheckFailedException);
      assert.deepEqual(error.Item, item);
      return true;
    });
  }
  assert.throws(
    () => tables.prepare([putting('s', {}, shown), putting('t', {}, condition)]),
    (error: TransactionCanceledException) => {
      assert.deepEqual(error.CancellationReasons, [
        {
          Code: 'ConditionalCheckFailed',
          Message: 'The conditional request failed',
          Item: { ...key('s'), n: number(1) },
        },
        { Code: 'None' },
      ]);
      return true;
    },
  );
});
