import assert from 'node:assert/strict';
import { test } from 'node:test';
import { key, number, putting, START, TABLE, TestDatabase } from './test-database.ts';

/** An instant as an attribute, in epoch seconds. */
function seconds(instant: number): { N: string } {
  return number(Math.floor(instant / 1000));
}

const PLACE = { table: TABLE, pk: 'a', sk: 's' };

test('an item can be deleted once its time to live is over, and exists until it is deleted', () => {
  const tables = new TestDatabase();
  tables.put('s', { gc: seconds(START + 5000) });

  tables.now = START + 4999;
  assert.deepEqual(tables.database.expirable(), []);
  tables.now = START + 5000;
  assert.deepEqual(tables.database.expirable(), [PLACE]);
  assert.ok(tables.get('s', { consistent: true }));

  tables.database.expire(PLACE);
  assert.deepEqual(tables.database.expirable(), []);
  assert.equal(tables.get('s', { consistent: true }), undefined);
});

test('a stale read shows an item that was just deleted after its expiry', () => {
  const tables = new TestDatabase();
  tables.put('s', { gc: seconds(START) });
  tables.now += 5000;
  tables.database.expire(PLACE);

  tables.fractions.push(0.5);
  assert.ok(tables.get('s'));
});

test('an item without a time to live, or with a later one by now, is not deleted', () => {
  const tables = new TestDatabase();
  tables.put('t', { gc: { S: '0' } });
  tables.put('u');
  tables.put('s', { gc: seconds(START) });
  tables.put('s', { gc: seconds(START + 9000) });
  tables.put('v', { gc: seconds(START) });
  tables.put('v');

  assert.deepEqual(tables.database.expirable(), []);
  tables.database.expire(PLACE);
  assert.ok(tables.get('s', { consistent: true }));
});

test('an expired item is not deleted while a transaction holds it', () => {
  const tables = new TestDatabase();
  tables.put('s', { gc: seconds(START) });
  const prepared = tables.prepare([putting('s', { gc: seconds(START), n: number(1) })]);

  tables.database.expire(PLACE);
  assert.ok(tables.get('s', { consistent: true }));
  tables.database.commit(prepared);
  tables.database.expire(PLACE);
  assert.equal(tables.get('s', { consistent: true }), undefined);
});

test('all items are listed in the order of their keys, without deleted ones', () => {
  const tables = new TestDatabase();
  for (const sk of ['z', '\u{1f600}', '\uffee', 'b', 'a']) tables.put(sk);
  tables.put('q', {}, '0');
  tables.delete('b');

  const items = tables.database.items(TABLE);

  assert.deepEqual(
    items,
    [
      ['0', 'q'],
      ['a', 'a'],
      ['a', 'z'],
      ['a', '\uffee'],
      ['a', '\u{1f600}'],
    ].map(([pk, sk]) => key(sk ?? '', pk)),
  );
});
