import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThrottlingException, type TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { key, putting, TABLE, TestDatabase } from './test-database.ts';

/** How many times `work` succeeds before it is throttled. */
function timesUntilThrottled(work: (time: number) => void): number {
  for (let time = 0; ; time++) {
    try {
      work(time);
    } catch (error) {
      assert.ok(error instanceof ThrottlingException);
      assert.equal(error.$metadata.httpStatusCode, 400);
      return time;
    }
  }
}

test('an item collection gives 1,000 write units a second', () => {
  const tables = new TestDatabase();
  const put = (time: number) => tables.put(`s${time}`);

  assert.equal(timesUntilThrottled(put), 1000);
  tables.now += 100;
  assert.equal(timesUntilThrottled(put), 100);
  tables.now += 60_000;
  assert.equal(timesUntilThrottled(put), 1000);
});

test('an item collection gives 3,000 read units a second in addition to its write units', () => {
  const tables = new TestDatabase();
  tables.put('s');

  assert.equal(
    timesUntilThrottled(() => tables.get('s', { consistent: true })),
    3000,
  );
  assert.throws(() => tables.query(), ThrottlingException);
  tables.put('s');
  tables.now += 1000;
  assert.equal(
    timesUntilThrottled(() => tables.get('s')),
    6000,
  );
});

test('each item collection has its own units', () => {
  const tables = new TestDatabase();
  timesUntilThrottled((time) => tables.put(`s${time}`));

  tables.put('s', {}, 'b');
  assert.ok(tables.get('s', { consistent: true }, 'b'));
});

test('a request that uses more units than are left delays the next one', () => {
  const tables = new TestDatabase();
  const bytes = { B: new Uint8Array(300 * 1024) };
  for (let count = 0; count < 4; count++) tables.put('s', { d: bytes });
  assert.throws(() => tables.put('t'), ThrottlingException);

  tables.now += 200;
  assert.throws(() => tables.put('t'), ThrottlingException);
  tables.now += 10;
  tables.put('t');
});

test('a refused write uses units, too', () => {
  const tables = new TestDatabase();
  const refused = { ConditionExpression: 'attribute_exists(pk)' };
  for (let count = 0; count < 1000; count++) {
    assert.throws(() => tables.run('PutItemCommand', { Item: key('s'), ...refused }), {
      name: 'ConditionalCheckFailedException',
    });
  }
  assert.throws(() => tables.put('s'), ThrottlingException);
});

test('a transaction uses twice as many units, and its reasons name the throttled items', () => {
  const tables = new TestDatabase();
  for (let time = 0; time < 500; time++) {
    tables.database.commit(tables.prepare([putting(`s${time}`)]));
  }
  const elsewhere = { Put: { TableName: TABLE, Item: key('s', 'b') } };

  assert.throws(
    () => tables.prepare([putting('s'), elsewhere]),
    (error: TransactionCanceledException) => {
      const codes = error.CancellationReasons?.map(({ Code }) => Code);
      assert.deepEqual(codes, ['ThrottlingError', 'None']);
      return true;
    },
  );
});

test('a batch leaves throttled items unprocessed, and fails if all are throttled', () => {
  const tables = new TestDatabase();
  timesUntilThrottled((time) => tables.put(`s${time}`));
  const requests = ['a', 'b'].map((pk) => ({ PutRequest: { Item: key('s', pk) } }));
  const write = (items: readonly object[]) =>
    tables.database.execute('BatchWriteItemCommand', { RequestItems: { [TABLE]: items } });

  assert.deepEqual(write(requests), { UnprocessedItems: { [TABLE]: [requests[0]] } });
  assert.throws(() => write(requests.slice(0, 1)), ThrottlingException);

  timesUntilThrottled(() => tables.get('s', { consistent: true }));
  const read = (pks: readonly string[]) =>
    tables.database.execute('BatchGetItemCommand', {
      RequestItems: { [TABLE]: { Keys: pks.map((pk) => key('s', pk)), ConsistentRead: true } },
    });
  assert.deepEqual(read(['a', 'b']), {
    Responses: { [TABLE]: [key('s', 'b')] },
    UnprocessedKeys: { [TABLE]: { Keys: [key('s', 'a')], ConsistentRead: true } },
  });
  assert.throws(() => read(['a']), ThrottlingException);
});

test('without limits nothing is throttled', () => {
  const tables = new TestDatabase({ throttles: false });
  for (let time = 0; time < 5000; time++) tables.put('s');
});
