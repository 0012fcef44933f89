import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { UnitMeter } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import { Table } from '../../../shared/storage/dynamodb/table.ts';
import { engineClient, TABLES, tableOptions, tablesExist } from '../../support/start-broker.ts';

/** Starts a table of the engine; `cost` counts what work costs. */
async function startTable(t: TestContext) {
  const client = engineClient();
  t.after(() => client.destroy());
  await tablesExist();
  const meter = new UnitMeter();
  const table = new Table(client, TABLES.messages, tableOptions(meter));
  const pk = randomBytes(6).toString('base64url');
  const cost = async (work: () => Promise<unknown>) => {
    await work();
    const { read, write } = meter.take();
    return { read, write };
  };
  return { table, pk, cost };
}

for (const [consistent, price] of [
  [true, 1],
  [false, 0.5],
] as const) {
  const how = consistent ? 'strongly consistent' : 'eventually consistent';
  test(`a read that finds nothing costs ${price} RU for each query and item, ${how}`, async (t) => {
    const { table, pk, cost } = await startTable(t);
    const range = { from: 'a', to: 'z', limit: 10, consistent };
    assert.deepEqual(await cost(() => table.range(pk, range)), { read: price, write: 0 });
    const key = { pk, sk: 'a' };
    assert.deepEqual(await cost(() => table.get(key, { consistent })), { read: price, write: 0 });
    const keys = ['a', 'b', 'c'].map((sk) => ({ pk, sk }));
    const many = await cost(() => table.getMany(keys, { consistent }));
    assert.deepEqual(many, { read: 3 * price, write: 0 });
  });

  test(`a query costs ${price} RU for each started 4 KB of all its items together, ${how}`, async (t) => {
    const { table, pk, cost } = await startTable(t);
    const d = { B: new Uint8Array(1000) };
    await table.putMany(
      ['a', 'b', 'c', 'd', 'e'].map((sk) => ({ pk: { S: pk }, sk: { S: sk }, d })),
    );
    await cost(async () => {});
    const upTo = (to: string) => ({ from: 'a', to, limit: 10, consistent });
    assert.equal((await cost(() => table.range(pk, upTo('c')))).read, price);
    assert.equal((await cost(() => table.range(pk, upTo('e')))).read, 2 * price);
  });
}

test('a small write costs 1 WU, in a transaction 2, and as much if its condition fails', async (t) => {
  const { table, pk, cost } = await startTable(t);
  const item = (sk: string) => ({ pk: { S: pk }, sk: { S: sk } });
  const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
  const single = () => table.put(item('a'), isNew);
  const both = () => table.transact(['b', 'c'].map((sk) => ({ put: item(sk), ...isNew })));
  for (const outcome of ['done', 'refused']) {
    assert.deepEqual(await cost(single), { read: 0, write: 1 }, outcome);
    assert.deepEqual(await cost(both), { read: 0, write: 4 }, outcome);
  }
});
