import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
} from '@aws-sdk/client-dynamodb';
import { chunks } from '../../shared/storage/dynamodb/chunks.ts';
import type { Item } from '../../shared/storage/dynamodb/table.ts';
import { topLevelKey } from '../../shared/storage/schema/entity-keys.ts';
import { headerKey } from '../../shared/storage/schema/message-keys.ts';
import type { TableNames } from '../../shared/storage/schema/tables.ts';

const BATCH_ITEMS = 25;

/**
 * Stores many queues as copies of one that has one partition, in a fraction of the time that creations take.
 */
export async function copyEntity(
  client: DynamoDBClient,
  namespace: string,
  of: string,
  names: readonly string[],
  tables: TableNames,
): Promise<void> {
  const { pk, sk } = topLevelKey(namespace, of);
  const { Item } = await client.send(
    new GetItemCommand({ TableName: tables.entities, Key: { pk: { S: pk }, sk: { S: sk } } }),
  );
  if (Item === undefined) throw new Error(`'${of}' does not exist.`);
  const copies = names.map((name, i) => copyOf(Item, namespace, name, i));
  await putAll(client, tables.entities, copies);
  await putAll(client, tables.messages, copies.map(headerOf));
}

async function putAll(client: DynamoDBClient, table: string, items: readonly Item[]) {
  for (const page of chunks(items, BATCH_ITEMS)) {
    const requests = page.map((item) => ({ PutRequest: { Item: item } }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }));
  }
}

function headerOf({ id }: Item): Item {
  const { pk, sk } = headerKey(id?.S ?? '', 0);
  return { pk: { S: pk }, sk: { S: sk }, n: { N: '0' } };
}

function copyOf(item: Item, namespace: string, name: string, i: number): Item {
  const { pk, sk } = topLevelKey(namespace, name);
  const id = `${namespace.slice(-4)}${String(i).padStart(4, '0')}`;
  return {
    ...item,
    pk: { S: pk },
    sk: { S: sk },
    key: { S: name },
    name: { S: name },
    id: { S: id },
  };
}
