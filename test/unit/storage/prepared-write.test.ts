import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnitMeter } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import { type PreparedWrite, run } from '../../../shared/storage/dynamodb/prepared-write.ts';
import { Table, type Write } from '../../../shared/storage/dynamodb/table.ts';
import { key, TABLE, TestDatabase } from '../../simulation/tables/behaviour/test-database.ts';
import { directNetwork, simulatedClients } from '../../simulation/tables/client.ts';
import { tableOptions } from '../../support/start-broker.ts';

const ABSENT = { ConditionExpression: 'attribute_not_exists(pk)' };

function startTable() {
  const database = new TestDatabase();
  const meter = new UnitMeter();
  const { client } = simulatedClients(database.database, directNetwork);
  return { database, meter, table: new Table(client, TABLE, tableOptions(meter)) };
}

/** A prepared write that records the calls of the runner. */
function prepared(name: string, writes: readonly Write[], calls: string[]): PreparedWrite {
  const note = (what: string) => () => void calls.push(`${name} ${what}`);
  return { writes, announce: note('announce'), onDone: note('done'), onRefused: note('refused') };
}

const put = (sk: string, condition = {}): Write => ({ put: key(sk), ...condition });

test('several prepared writes become one transaction, and each is announced and finished', async () => {
  const { database, table } = startTable();
  const calls: string[] = [];
  const parts = [prepared('a', [put('1'), put('2')], calls), prepared('b', [put('3')], calls)];
  assert.deepEqual(await run(table, parts), { done: true });
  assert.deepEqual(database.query(), ['1', '2', '3']);
  assert.deepEqual(calls, ['a announce', 'b announce', 'a done', 'b done']);
});

test('after a failed condition nothing is stored, all writes clean up, and the result names the write', async () => {
  const { database, table } = startTable();
  database.put('2');
  const calls: string[] = [];
  const free = prepared('free', [put('0'), put('1')], calls);
  const taken = prepared('taken', [put('2', ABSENT)], calls);
  const outcome = await run(table, [free, taken]);
  assert.ok(!outcome.done && !outcome.isUncertain);
  assert.deepEqual([...outcome.refused.keys()], [taken]);
  assert.deepEqual(database.query(), ['2']);
  assert.deepEqual(calls, ['free refused', 'taken refused']);
});

test('a single write of any kind is not a transaction, and costs one unit', async () => {
  const { database, meter, table } = startTable();
  const target = { pk: 'a', sk: 'x' };
  const value = { ExpressionAttributeValues: { ':n': { N: '1' } } };
  const singles: readonly Write[] = [
    put('x'),
    put('y', ABSENT),
    { update: target, UpdateExpression: 'SET n = :n', ...value },
    { delete: target, ConditionExpression: 'n = :n', ...value },
  ];
  for (const write of singles) {
    assert.deepEqual(await run(table, [{ writes: [write] }, { writes: [] }]), { done: true });
    const { write: units, requests } = meter.take();
    assert.deepEqual([units, requests], [1, 1]);
  }
  assert.deepEqual(database.query(), ['y']);
});

test('an empty write sends no request', async () => {
  const { meter, table } = startTable();
  const calls: string[] = [];
  assert.deepEqual(await run(table, [prepared('a', [], calls)]), { done: true });
  assert.equal(meter.take().requests, 0);
  assert.deepEqual(calls, ['a announce', 'a done']);
});
