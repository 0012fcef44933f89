import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  IdempotentParameterMismatchException,
  TransactionCanceledException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import { number, putting, TestDatabase } from './test-database.ts';

const MINUTE = 60_000;

test('a transaction is applied once under one token', () => {
  const tables = new TestDatabase();
  const items = [putting('s', { n: number(1) })];
  tables.database.commit(tables.prepare(items, 'token'));
  tables.put('s', { n: number(2) });

  const again = tables.database.commit(tables.prepare(items, 'token'));

  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '2');
  assert.deepEqual(again, { ConsumedCapacity: [{ TableName: 'messages', CapacityUnits: 2 }] });
  tables.put('s');
});

test('a token is refused while its transaction is in progress', () => {
  const tables = new TestDatabase();
  const prepared = tables.prepare([putting('s')], 'token');

  assert.throws(() => tables.prepare([putting('s')], 'token'), TransactionInProgressException);

  tables.database.commit(prepared);
  tables.prepare([putting('s')], 'token');
});

test('another transaction under the same token is refused', () => {
  const tables = new TestDatabase();
  tables.database.commit(tables.prepare([putting('s', { n: number(1) })], 'token'));

  assert.throws(
    () => tables.prepare([putting('s', { n: number(2) })], 'token'),
    IdempotentParameterMismatchException,
  );
});

test('a cancelled transaction can be repeated under its token', () => {
  const tables = new TestDatabase();
  const items = [putting('s', {}, { ConditionExpression: 'attribute_not_exists(pk)' })];
  tables.put('s');
  assert.throws(() => tables.prepare(items, 'token'), TransactionCanceledException);

  tables.delete('s');
  tables.database.commit(tables.prepare(items, 'token'));

  assert.ok(tables.get('s', { consistent: true }));
});

test('a token is valid for ten minutes', () => {
  const tables = new TestDatabase();
  const items = [putting('s')];
  tables.database.commit(tables.prepare(items, 'token'));

  tables.now += 10 * MINUTE - 1;
  tables.delete('s');
  tables.database.commit(tables.prepare(items, 'token'));
  assert.equal(tables.get('s', { consistent: true }), undefined);

  tables.now += 1;
  tables.database.commit(tables.prepare(items, 'token'));
  assert.ok(tables.get('s', { consistent: true }));
});
