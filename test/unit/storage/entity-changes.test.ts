import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownOutcome } from '../../../shared/domain/broker-error.ts';
import { EntityChanges } from '../../../shared/storage/entities/entity-changes.ts';

function start() {
  const calls: string[] = [];
  const changes = new EntityChanges({
    table: { transact: () => assert.fail('nothing is written') } as never,
    forget: (key) => calls.push(`forget ${key}`),
    leasesEnded: async () => void calls.push('leases ended'),
  });
  return { calls, changes };
}

const fails = async () => {
  throw unknownOutcome();
};

test('a change with an unknown outcome waits until all leases have ended, since it may have been made', async () => {
  const { calls, changes } = start();
  await assert.rejects(changes.everywhere('q', fails));
  assert.deepEqual(calls, ['forget q', 'leases ended']);
});

test('a refused change waits for no lease', async () => {
  const { calls, changes } = start();
  assert.equal(await changes.everywhere('q', async () => false), false);
  assert.deepEqual(calls, ['forget q']);
});
