import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ensureTables } from '../../../../local/tables.ts';
import { DocumentTable } from '../../../../shared/storage/dynamodb/document-table.ts';
import { engineClient, tableOptions } from '../../../support/start-broker.ts';
import { directNetwork, simulatedClient } from '../client.ts';
import { TestDatabase } from './test-database.ts';

/** Compares tables of documents over the simulated database and over the database engine of the tests. */

const Key = { pk: 'a', sk: 's' };
const STORED = {
  ...Key,
  words: 'x',
  count5: 5,
  isTrue: false,
  absent: null,
  parts: [1, { inner: 'x' }],
  raw: new Uint8Array([1, 2]),
};
/** Members that are undefined are not stored. */
const DOCUMENT = { ...STORED, leftOut: undefined, parts: [1, { inner: 'x', left: undefined }] };

const TableName = 'documents-of-a-test';

/** Uses everything that the table can do; returns the answers. */
async function useAll(client: DynamoDBClient): Promise<readonly unknown[]> {
  const table = new DocumentTable(client, TableName, tableOptions());
  const seen: unknown[] = [await table.get(Key)];
  await table.put(DOCUMENT);
  const stored = await table.get(Key);
  assert.deepEqual({ ...stored, raw: Uint8Array.from(stored?.['raw'] as Uint8Array) }, STORED);
  seen.push(
    stored,
    await table.update(Key, {
      UpdateExpression: 'SET #walk = :state REMOVE absent',
      ExpressionAttributeNames: { '#walk': 'walk' },
      ExpressionAttributeValues: { ':state': { beganAt: 1, after: undefined } },
      ReturnValues: 'ALL_OLD',
    }),
  );
  const writes = [
    { Put: { TableName, Item: { ...Key, sk: 't', n: 0 } } },
    {
      Update: {
        TableName,
        Key,
        UpdateExpression: 'SET words = :words',
        ConditionExpression: 'walk = :state',
        ExpressionAttributeValues: { ':words': 'y', ':state': { beganAt: 1 } },
      },
    },
  ];
  seen.push(await table.transact(writes));
  for await (const document of table.all('a')) seen.push(document);
  for await (const document of table.allStale('a', undefined, Key.sk)) seen.push(document);
  seen.push(await table.range('a', { from: 's', to: 's' }, 1));
  const condition = {
    ConditionExpression: 'n = :n',
    ExpressionAttributeValues: { ':n': 1 },
  };
  seen.push(await table.delete({ ...Key, sk: 't' }, condition));
  seen.push(await table.delete(Key, { ReturnValues: 'ALL_OLD' }));
  seen.push(await table.get(Key));
  return seen;
}

test('documents are stored and found alike in the simulated database and in the engine', async (t) => {
  const engine = engineClient();
  t.after(() => engine.destroy());
  await ensureTables(engine, { entities: TableName, messages: TableName });
  const simulated = simulatedClient(new TestDatabase().database, directNetwork);

  assert.deepEqual(await useAll(simulated), await useAll(engine));
});
