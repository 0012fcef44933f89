import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { lock, startQueue } from '../queues/queue.ts';
import { commit, sending, settling, transact } from './transaction.ts';

/** The cost of transactions, by the prices of DynamoDB: a write in a transaction is two units. */

/** A process that has cached two queues, each with one message. */
async function startWarm(t: Parameters<typeof startQueue>[0]): Promise<TestBroker> {
  const broker = await startQueue(t);
  expectStatus(await broker.createQueue('other'), 201);
  await commit(broker, [sending('q', 'warm'), sending('other', 'warm')]);
  return broker;
}

test('a completion with two sends to one queue costs 5 write units, and 7 with an id', async (t) => {
  const broker = await startWarm(t);
  for (const [id, budget] of [
    [undefined, 5],
    ['id', 7],
  ] as const) {
    const message = await lock(broker);
    const operations = [settling('complete', 'q', message), sending('q', 'a', 'b')];
    const units = await broker.units(() => commit(broker, operations, id));
    t.diagnostic(JSON.stringify(units));
    assert.equal(units.write, budget);
    assert.ok(units.read <= (id === undefined ? 1 : 2), `${units.read} read units`);
    assert.equal(units.roundTrips, id === undefined ? 3 : 4);
  }
});

test('a completion with sends to two queues costs 8 write units', async (t) => {
  const broker = await startWarm(t);
  const message = await lock(broker);
  const operations = [settling('complete', 'q', message), sending('q', 'a'), sending('other', 'b')];
  const units = await broker.units(() => commit(broker, operations));
  t.diagnostic(JSON.stringify(units));
  assert.equal(units.write, 8);
});

test('all settlements in one block cost one write without a DynamoDB transaction', async (t) => {
  const broker = await startWarm(t);
  await broker.receiveAndDelete('q');
  await commit(broker, [sending('q', 'a', 'b', 'c', 'd')]);
  const [a, b, c] = await broker.peekLockMany('q', 3);
  assert.ok(a && b && c);
  const operations = [
    settling('complete', 'q', a),
    settling('abandon', 'q', b),
    settling('renew', 'q', c),
  ];
  const units = await broker.units(() => commit(broker, operations));
  assert.deepEqual(units, { read: 1, write: 1, requests: 2, roundTrips: 2 });
});

test('U5 a refusal under an id costs one write unit, so that no earlier attempt takes effect later', async (t) => {
  const broker = await startWarm(t);
  const refuse = async (id?: string) => {
    expectStatus(await transact(broker, [sending('missing', 'a')], id), 410);
  };
  const without = await broker.units(() => refuse());
  const units = await broker.units(() => refuse('id'));
  t.diagnostic(JSON.stringify({ without, units }));
  assert.deepEqual([without.write, units.write], [0, 1]);
  assert.equal(units.read - without.read, 1);
});

test('a repeated answer costs one read unit', async (t) => {
  const broker = await startWarm(t);
  await commit(broker, [sending('q', 'a')], 'id');
  const units = await broker.units(() => commit(broker, [sending('q', 'a')], 'id'));
  assert.deepEqual(units, { read: 1, write: 0, requests: 1, roundTrips: 1 });
});
