import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownOutcome } from '../../../shared/storage/dynamodb/errors.ts';
import { EntityChanges } from '../../../shared/storage/entities/entity-changes.ts';

function start() {
  const calls: string[] = [];
  const changes = new EntityChanges({
    table: { transact: () => assert.fail('nothing is written') } as never,
    forget: (key) => calls.push(`forget ${key}`),
    unheard: () => calls.push('unheard'),
    outlastCaches: async () => void calls.push('outlast'),
  });
  return { calls, changes };
}

const fails = async () => {
  throw unknownOutcome();
};

test('a change of which nothing was heard is told to the cache, whether others are waited for or not', async () => {
  const { calls, changes } = start();
  await assert.rejects(changes.forgotten('q', fails));
  assert.deepEqual(calls.splice(0), ['unheard', 'forget q']);
  await assert.rejects(changes.madeKnown('q', fails));
  assert.deepEqual(calls, ['unheard', 'forget q', 'outlast']);
});

test('a change that was refused is waited for by nobody', async () => {
  const { calls, changes } = start();
  assert.equal(await changes.madeKnown('q', async () => false), false);
  assert.deepEqual(calls, ['forget q']);
});
