import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { DocumentTable } from '../../../shared/storage/dynamodb/document-table.ts';
import { putting, TABLE, TestDatabase } from '../../simulation/tables/behaviour/test-database.ts';
import { directNetwork, simulatedClients } from '../../simulation/tables/client.ts';

const KEY = { pk: 'a', sk: 's' };
const RANDOM = { bytes: (count: number) => new Uint8Array(count) };

/** A document that a transaction locks until the writer pauses for the first time. */
function heldDocument(): DocumentTable {
  const tables = new TestDatabase();
  tables.put(KEY.sk);
  const prepared = tables.prepare([putting(KEY.sk)]);
  const scheduler: Pick<Scheduler, 'after'> = {
    after: (_, work) => {
      tables.database.commit(prepared);
      work();
      return { cancel: () => {} };
    },
  };
  const { documentClient } = simulatedClients(tables.database, directNetwork);
  const options = { scheduler: scheduler as Scheduler, random: RANDOM };
  return new DocumentTable(documentClient, TABLE, options);
}

test('a write of a document that a transaction locks is repeated after a pause', async () => {
  const update = { UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': 1 } };
  assert.equal((await heldDocument().update(KEY, update)).done, true);
  assert.equal((await heldDocument().delete(KEY)).done, true);
  const table = heldDocument();
  await table.put({ ...KEY, n: 2 });
  assert.equal((await table.get(KEY))?.['n'], 2);
});
