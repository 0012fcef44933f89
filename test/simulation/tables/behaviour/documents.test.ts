import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { ensureTables } from '../../../../local/tables.ts';
import { engineClient } from '../../../support/start-broker.ts';
import { directNetwork, simulatedClients } from '../client.ts';
import { TestDatabase } from './test-database.ts';

/** Compares the simulated document client with the SDK's, over the database engine of the tests. */

const DOCUMENT = {
  pk: 'a',
  sk: 's',
  words: 'x',
  count5: 5,
  isTrue: false,
  absent: null,
  leftOut: undefined,
  parts: [1, { inner: 'x', left: undefined }],
  raw: new Uint8Array([1, 2]),
};

const TableName = 'documents-of-a-test';
const Key = { pk: 'a', sk: 's' };

/** Sends each kind of document command that storage uses; returns the answers. */
async function sendAll(client: DynamoDBDocumentClient): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  const keep = ({
    $metadata: _,
    ConsumedCapacity: __,
    ...answer
  }: { $metadata: object } & object & {
      ConsumedCapacity?: unknown;
    }) => seen.push(answer);
  keep(await client.send(new PutCommand({ TableName, Item: DOCUMENT })));
  keep(await client.send(new GetCommand({ TableName, Key, ConsistentRead: true })));
  keep(
    await client.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: 'SET #walk = :state REMOVE absent',
        ExpressionAttributeNames: { '#walk': 'walk' },
        ExpressionAttributeValues: { ':state': { beganAt: 1, after: undefined } },
        ReturnValues: 'ALL_OLD',
      }),
    ),
  );
  keep(
    await client.send(
      new TransactWriteCommand({
        TransactItems: [
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
        ],
      }),
    ),
  );
  const query = {
    TableName,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': 'a' },
    ConsistentRead: true,
  };
  keep(await client.send(new QueryCommand({ ...query, Limit: 1 })));
  keep(await client.send(new QueryCommand({ ...query, ExclusiveStartKey: Key })));
  keep(await client.send(new DeleteCommand({ TableName, Key, ReturnValues: 'ALL_OLD' })));
  keep(await client.send(new GetCommand({ TableName, Key, ConsistentRead: true })));
  const refused = new DeleteCommand({
    TableName,
    Key: { ...Key, sk: 't' },
    ConditionExpression: 'n = :n',
    ExpressionAttributeValues: { ':n': 1 },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  await assert.rejects(client.send(refused), ({ Item }: { Item?: unknown }) => {
    seen.push(Item);
    return true;
  });
  return seen;
}

function documentsOf(client: DynamoDBClient): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

test('the simulated document client answers like the document client of the SDK', async (t) => {
  const engine = engineClient();
  t.after(() => engine.destroy());
  await ensureTables(engine, { entities: TableName, messages: TableName });
  const { documentClient } = simulatedClients(new TestDatabase().database, directNetwork);

  assert.deepEqual(await sendAll(documentClient), await sendAll(documentsOf(engine)));
});
