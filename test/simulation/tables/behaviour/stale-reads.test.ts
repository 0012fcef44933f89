import assert from 'node:assert/strict';
import { test } from 'node:test';
import { key, number, TABLE, TestDatabase } from './test-database.ts';

/** A fraction that gives a read almost the largest age allowed. */
const OLDEST = 0.999;

test('a read without ConsistentRead may show an older version of an item', () => {
  const tables = new TestDatabase();
  tables.put('s', { n: number(1) });
  tables.now += 2000;
  tables.put('s', { n: number(2) });

  tables.fractions.push(0, OLDEST);

  assert.equal(tables.get('s')?.['n']?.N, '2');
  assert.equal(tables.get('s')?.['n']?.N, '1');
});

test('a read with ConsistentRead shows the last write', () => {
  const tables = new TestDatabase();
  tables.put('s', { n: number(1) });
  tables.now += 10;
  tables.put('s', { n: number(2) });

  tables.fractions.push(OLDEST);

  assert.equal(tables.get('s', { consistent: true })?.['n']?.N, '2');
});

test('a stale read may miss a new item and may show a deleted one', () => {
  const tables = new TestDatabase();
  tables.put('s');
  tables.fractions.push(OLDEST);
  assert.equal(tables.get('s'), undefined);

  tables.now += 2000;
  tables.delete('s');
  tables.fractions.push(OLDEST, 0);
  assert.ok(tables.get('s'));
  assert.equal(tables.get('s'), undefined);
});

test('a read is never older than the settings allow, to the millisecond', () => {
  const tables = new TestDatabase({ staleMsMax: 500 });
  tables.put('s', { n: number(1) });
  tables.now += 5000;
  tables.put('s', { n: number(2) });

  tables.now += 499;
  tables.fractions.push(OLDEST);
  assert.equal(tables.get('s')?.['n']?.N, '1');

  tables.now += 1;
  tables.fractions.push(OLDEST);
  assert.equal(tables.get('s')?.['n']?.N, '2');
});

test('a stale read can show each of several recent versions', () => {
  const tables = new TestDatabase();
  for (let n = 0; n < 4; n++) {
    tables.now += 100;
    tables.put('s', { n: number(n) });
  }

  tables.fractions.push(0, 0.05, 0.15, 0.25, 0.35);
  const seen = Array.from({ length: 5 }, () => tables.get('s')?.['n']?.N);

  assert.deepEqual(seen, ['3', '2', '1', '0', undefined]);
});

test('a page of a query shows its collection at one instant', () => {
  const tables = new TestDatabase();
  for (const sk of ['1', '2', '3', '4']) {
    tables.now += 100;
    tables.put(sk);
    if (sk !== '1') tables.delete(String(Number(sk) - 1));
  }

  tables.fractions.push(0, 0.05, 0.15, 0.25);
  const seen = Array.from({ length: 4 }, () => tables.query());

  assert.deepEqual(seen, [['4'], ['3'], ['2'], ['1']]);
  assert.deepEqual(tables.query({ ConsistentRead: true }), ['4']);
});

test('the limit of a page counts the items that it shows, not deleted ones', () => {
  const tables = new TestDatabase();
  for (const sk of ['1', '2', '3']) tables.put(sk);
  tables.delete('1');

  assert.deepEqual(tables.query({ Limit: 2, ConsistentRead: true }), ['2', '3']);
});

test('each item of a batch read has its own age', () => {
  const tables = new TestDatabase();
  tables.put('1');
  tables.put('2');

  tables.fractions.push(OLDEST, 0);
  const { Responses } = tables.database.execute('BatchGetItemCommand', {
    RequestItems: { [TABLE]: { Keys: [key('1'), key('2')] } },
  }) as { Responses: Record<string, object[]> };

  assert.deepEqual(Responses[TABLE], [key('2')]);
});

test('without staleness a read shows the last write', () => {
  const tables = new TestDatabase({ staleMsMax: 0 });
  tables.fractions.push(OLDEST, OLDEST);
  tables.put('s');
  assert.ok(tables.get('s'));
  tables.delete('s');
  assert.equal(tables.get('s'), undefined);
});
