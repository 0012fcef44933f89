import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AmqpDependencies } from '../../../amqp/service/dependencies.ts';
import { Transactions } from '../../../amqp/transactions/transactions.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';

const PATH = parseEntityPath('q');
const NEED = { pathname: 'q', path: PATH, right: 'Send' } as const;
const SEND = {
  kind: 'send',
  path: PATH,
  messages: [{ body: Buffer.from('m'), properties: {} }],
} as const;

function start() {
  let now = 0;
  let timer = { at: Number.POSITIVE_INFINITY, work: () => {} };
  const scheduler = {
    now: () => now,
    after: (ms: number, work: () => void) => {
      timer = { at: now + ms, work };
      return { cancel: () => {} };
    },
  };
  const advance = (ms: number) => {
    now += ms;
    if (now >= timer.at) timer.work();
  };
  let carriedOut = 0;
  let held = 0;
  const broker = {
    transact: async () => {
      carriedOut++;
    },
  };
  const random = { bytes: (count: number) => new Uint8Array(count) };
  const dependencies = { scheduler, random, broker } as unknown as AmqpDependencies;
  const transactions = new Transactions(
    { dependencies },
    {
      tryHold: (bytes) => {
        held += bytes;
        return true;
      },
      release: (bytes) => {
        held -= bytes;
      },
    },
  );
  const id = transactions.declare();
  const commit = () => transactions.discharge(id, false, async () => {});
  return { advance, transactions, id, commit, carriedOut: () => carriedOut, held: () => held };
}

test('a discharge waits for earlier operations, and releases all memory', async () => {
  const { transactions, id, commit, carriedOut, held } = start();
  const first = transactions.enlist(id);
  const discharge = commit();
  first.add(SEND, NEED);
  assert.ok(held() > 0);
  assert.equal(carriedOut(), 0);
  first.end();
  await discharge;
  assert.deepEqual([carriedOut(), held()], [1, 0]);
});

for (const isAdded of [false, true]) {
  test(`a discharge waits no longer than a transaction may take${isAdded ? ', also with operations added' : ''}`, async () => {
    const { advance, transactions, id, commit, carriedOut, held } = start();
    const stuck = transactions.enlist(id);
    if (isAdded) stuck.add(SEND, NEED);
    const refused = assert.rejects(commit(), { condition: 'amqp:transaction:rollback' });
    advance(BUDGETS.connection.transactionMs);
    await refused;
    assert.throws(() => stuck.add(SEND, NEED), { condition: 'amqp:transaction:unknown-id' });
    assert.deepEqual([carriedOut(), held()], [0, 0]);
  });
}

test('a transaction with a refused or unanswered operation is not committed', async () => {
  const { transactions, id, commit, carriedOut, held } = start();
  const first = transactions.enlist(id);
  const lost = transactions.enlist(id);
  const refused = assert.rejects(commit(), { condition: 'amqp:transaction:rollback' });
  first.add(SEND, NEED);
  first.end();
  lost.refuse();
  await refused;
  assert.deepEqual([carriedOut(), held()], [0, 0]);
});

test('an outcome that is often repeated takes no long turn', () => {
  const { transactions, id } = start();
  const enlistment = transactions.enlist(id);
  const need = { ...NEED, right: 'Listen' } as const;
  const settle = (lockToken: string) =>
    ({
      kind: 'settle',
      path: PATH,
      settlement: { lockToken, action: { kind: 'complete' } },
    }) as const;
  const { transactionOperations: most } = BUDGETS.connection;
  for (let i = 0; i < most; i++) enlistment.add(settle(`${i}`), need);
  const began = performance.now();
  for (let i = 0; i < 10 * most; i++) enlistment.add(settle(`${i % most}`), need);
  assert.ok(performance.now() - began < 500);
  const other = { kind: 'abandon' } as const;
  assert.throws(
    () => enlistment.add({ ...settle('1'), settlement: { lockToken: '1', action: other } }, need),
    { code: 'InvalidOperation' },
  );
});

test('a transaction that was rolled back accepts no more operations', () => {
  const { transactions, id, held } = start();
  const late = transactions.enlist(id);
  transactions.rollBack(id);
  assert.throws(() => late.add(SEND, NEED), { condition: 'amqp:transaction:unknown-id' });
  assert.equal(held(), 0);
});
