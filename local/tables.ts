import {
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  UpdateTableCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import {
  createTableRequest,
  MESSAGES_STREAM,
  type TableNames,
} from '../shared/storage/schema/tables.ts';

/** The table pair of the local server. */
export const LOCAL_TABLES: TableNames = {
  entities: 'dynabus-entities',
  messages: 'dynabus-messages',
};

const ACTIVE_SECONDS_MAX = 60;

/** Creates the missing tables and waits until all are active. Rejects with the engine's error. */
export async function ensureTables(client: DynamoDBClient, names: TableNames): Promise<void> {
  await Promise.all([names.entities, names.messages].map((name) => ensureTable(client, name)));
}

/** Gives the messages table a stream unless it has one. Rejects with the error of an engine that has no streams. */
export async function ensureStream(client: DynamoDBClient, { messages }: TableNames) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: messages }));
  if (Table?.StreamSpecification?.StreamEnabled) return;
  const change = { TableName: messages, StreamSpecification: MESSAGES_STREAM };
  try {
    await client.send(new UpdateTableCommand(change));
  } catch (error) {
    // Another server gives it one at this moment.
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}

async function ensureTable(client: DynamoDBClient, name: string): Promise<void> {
  const request = createTableRequest(name);
  try {
    const { TableDescription } = await client.send(
      new CreateTableCommand({
        ...request,
        AttributeDefinitions: [...request.AttributeDefinitions],
        KeySchema: [...request.KeySchema],
      }),
    );
    // The local engines create a table at once; only DynamoDB itself needs the wait below.
    if (TableDescription?.TableStatus === 'ACTIVE') return;
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  const waiting = { client, minDelay: 1, maxDelay: 2, maxWaitTime: ACTIVE_SECONDS_MAX };
  await waitUntilTableExists(waiting, { TableName: name });
}
