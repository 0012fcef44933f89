import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
} from '@aws-sdk/client-dynamodb';
import { chunks } from '../../shared/storage/dynamodb/chunks.ts';
import type { Item } from '../../shared/storage/dynamodb/table.ts';
import { topLevelKey } from '../../shared/storage/schema/entity-keys.ts';
import { blockSortKey, headerKey, logKey } from '../../shared/storage/schema/message-keys.ts';
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
  const item = await entityNamed(client, namespace, of, tables);
  const copies = names.map((name, i) => copyOf(item, namespace, name, i));
  await putAll(client, tables.entities, copies);
  await putAll(client, tables.messages, copies.map(headerOf));
}

/** Stores further names of a queue with one partition, as queues that have the same messages. */
export async function nameAgain(
  client: DynamoDBClient,
  namespace: string,
  of: string,
  names: readonly string[],
  tables: TableNames,
): Promise<void> {
  const item = await entityNamed(client, namespace, of, tables);
  const copies = names.map((name, i) => ({
    ...copyOf(item, namespace, name, i),
    id: item['id'] ?? { S: '' },
  }));
  await putAll(client, tables.entities, copies);
}

/**
 * Puts messages into a queue that has sent one, as copies of that one with a block each, in a fraction of the time that
 * as many sends take.
 */
export async function copyMessage(
  client: DynamoDBClient,
  id: string,
  count: number,
  tables: TableNames,
): Promise<void> {
  const place = { entityId: id, headerEntityId: id, entityKey: '', partition: 0, generation: 0 };
  const pk = { S: logKey({ ...place, subQueue: 'main' }) };
  const { Item } = await client.send(
    new GetItemCommand({
      TableName: tables.messages,
      Key: { pk, sk: { S: blockSortKey('live', 1n) } },
    }),
  );
  if (Item === undefined) throw new Error('The queue has no first message.');
  const copies = Array.from({ length: count }, (_, i) => ({
    ...Item,
    sk: { S: blockSortKey('live', BigInt(i + 2)) },
  }));
  await putAll(client, tables.messages, copies);
}

async function entityNamed(
  client: DynamoDBClient,
  namespace: string,
  name: string,
  { entities }: TableNames,
): Promise<Item> {
  const { pk, sk } = topLevelKey(namespace, name);
  const { Item } = await client.send(
    new GetItemCommand({ TableName: entities, Key: { pk: { S: pk }, sk: { S: sk } } }),
  );
  if (Item === undefined) throw new Error(`'${name}' does not exist.`);
  return Item;
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
