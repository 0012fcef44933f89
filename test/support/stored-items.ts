import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { ItemKey } from '../../shared/storage/dynamodb/table.ts';
import {
  quotaCountsKey,
  rulesOf,
  subscriptionsOf,
  topicListOf,
  topLevelKey,
} from '../../shared/storage/schema/entity-keys.ts';
import { lastingItems } from './lasting-items.ts';
import { engineClient, TABLES } from './start-broker.ts';
import type { TestBroker } from './test-broker.ts';

/** Reads the tables directly, so that tests can check that deleted data is really gone. */
export class StoredItems {
  readonly #client: DynamoDBClient = engineClient();
  readonly #namespace: string;

  constructor({ namespace }: TestBroker) {
    this.#namespace = namespace;
  }

  /** The internal id of a queue or topic. */
  async idOf(name: string): Promise<string> {
    return await this.#idIn(this.#namespace, name);
  }

  /** Removes the next due time from a queue's partition header, so that scheduled messages do not activate. */
  async forgetDue(id: string): Promise<void> {
    await this.#updateHeader(id, 'REMOVE w');
  }

  /** Sets the next due time (epoch ms) in a queue's partition header, as a late write does. */
  async expectDue(id: string, dueAt: number): Promise<void> {
    await this.#updateHeader(id, 'SET w = :due', { ':due': { N: String(dueAt) } });
  }

  /** Takes sequence numbers of a queue with one partition, as messages did that have left it. */
  async takeNumbers(id: string, count: number): Promise<void> {
    await this.#updateHeader(id, 'ADD n :count', { ':count': { N: String(count) } });
  }

  /** Updates the header of a queue with one partition. */
  async #updateHeader(
    id: string,
    UpdateExpression: string,
    ExpressionAttributeValues?: Record<string, AttributeValue>,
  ): Promise<void> {
    await this.#client.send(
      new UpdateItemCommand({
        TableName: TABLES.messages,
        Key: { pk: { S: `${id}.0` }, sk: { S: 'head' } },
        UpdateExpression,
        ...(ExpressionAttributeValues && { ExpressionAttributeValues }),
      }),
    );
  }

  /** Deletes a topic as earlier versions did, which leave it in the list of topics. */
  async removeTopic(name: string): Promise<void> {
    await this.#removeEntity(topLevelKey(this.#namespace, name));
  }

  /** Removes the list of topics, which earlier versions do not have. */
  async removeTopicList(): Promise<void> {
    const pk = topicListOf(this.#namespace);
    for (const { sk } of await this.entitiesIn(pk)) {
      await this.#removeEntity({ pk, sk: sk?.S ?? '' });
    }
  }

  async #removeEntity({ pk, sk }: ItemKey): Promise<void> {
    await this.#client.send(
      new DeleteItemCommand({ TableName: TABLES.entities, Key: { pk: { S: pk }, sk: { S: sk } } }),
    );
  }

  /** The numbers for the quotas of the namespace. */
  async quotaCounts(): Promise<Record<string, AttributeValue> | undefined> {
    const [counts] = await this.entitiesIn(quotaCountsKey(this.#namespace).pk);
    return counts;
  }

  /** The internal id of a subscription. */
  async idOfSubscription(topic: string, name: string): Promise<string> {
    const topicId = await this.idOf(topic);
    return await this.#idIn(`${this.#namespace}/s/${topicId}`, `${topic}/subscriptions/${name}`);
  }

  /** The ids of all queues, topics and subscriptions, and the namespace's name, under which transactions are. */
  async #idsOfAll(): Promise<readonly string[]> {
    const top = await this.entitiesIn(this.#namespace);
    const children = top.map(({ id }) => this.entitiesIn(`${this.#namespace}/s/${id?.S}`));
    const entities = [...top, ...(await Promise.all(children)).flat()];
    return [this.#namespace, ...entities.flatMap(({ id }) => id?.S ?? [])];
  }

  /** The collection of a queue, topic, subscription (`t/Subscriptions/s`) or rule (`t/Subscriptions/s/Rules/r`). */
  async collectionOf(path: string): Promise<string> {
    const [topic = '', , subscription, , rule] = path.split('/');
    if (subscription === undefined) return this.#namespace;
    const id = await this.idOf(topic);
    return (rule === undefined ? subscriptionsOf : rulesOf)(this.#namespace, id);
  }

  /** The stored queues and topics of a namespace, or the subscriptions or rules of a topic, by their collection. */
  async entitiesIn(collection: string): Promise<readonly Record<string, AttributeValue>[]> {
    const { Items = [] } = await this.#client.send(
      new QueryCommand({
        TableName: TABLES.entities,
        KeyConditionExpression: 'pk = :collection',
        ExpressionAttributeValues: { ':collection': { S: collection } },
      }),
    );
    return Items;
  }

  async #idIn(collection: string, key: string): Promise<string> {
    const Items = await this.entitiesIn(collection);
    const id = Items.find((item) => item['key']?.S === key)?.['id']?.S;
    if (id === undefined) throw new Error(`No entity ${key} is stored: ${JSON.stringify(Items)}`);
    return id;
  }

  /** The number of items of an entity in the messages table, including partition headers. */
  async ofEntity(id: string): Promise<number> {
    return await this.#count(TABLES.messages, `${id}.`);
  }

  /** The number of items of a namespace that are the sweep's work: no entities, and none that stay for ever. */
  async ofSweep(): Promise<number> {
    let count = await this.#count(TABLES.entities, `${this.#namespace}/`);
    for (const { pk } of lastingItems(this.#namespace)) {
      count -= await this.#count(TABLES.entities, pk);
    }
    return count;
  }

  /** All items of the namespace in the messages table. */
  async all(): Promise<readonly string[]> {
    const ids = await this.#idsOfAll();
    const items: string[] = [];
    let start: Record<string, AttributeValue> | undefined;
    do {
      const page = await this.#client.send(
        new ScanCommand({
          TableName: TABLES.messages,
          FilterExpression: ids.map((_, i) => `begins_with(pk, :id${i})`).join(' OR '),
          ExpressionAttributeValues: Object.fromEntries(
            ids.map((id, i) => [`:id${i}`, { S: `${id}.` }]),
          ),
          ConsistentRead: true,
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      );
      items.push(...(page.Items ?? []).map((item) => JSON.stringify(item, sortedKeys)));
      start = page.LastEvaluatedKey;
    } while (start !== undefined);
    return items.sort();
  }

  /** Removes the printed sizes from the blocks of a queue, as earlier versions stored none. */
  async forgetPrintedBytes(id: string): Promise<number> {
    const { Items = [] } = await this.#client.send(
      new QueryCommand({
        TableName: TABLES.messages,
        KeyConditionExpression: 'pk = :log',
        FilterExpression: 'attribute_exists(b)',
        ExpressionAttributeValues: { ':log': { S: `${id}.0m0` } },
        ConsistentRead: true,
      }),
    );
    for (const { pk, sk } of Items) {
      await this.#client.send(
        new UpdateItemCommand({
          TableName: TABLES.messages,
          Key: { pk, sk } as Record<string, AttributeValue>,
          UpdateExpression: 'REMOVE b',
        }),
      );
    }
    return Items.length;
  }

  async #count(table: string, prefix: string): Promise<number> {
    let count = 0;
    let start: Record<string, { S: string }> | undefined;
    do {
      const page = await this.#client.send(
        new ScanCommand({
          TableName: table,
          Select: 'COUNT',
          FilterExpression: 'begins_with(pk, :prefix)',
          ExpressionAttributeValues: { ':prefix': { S: prefix } },
          ConsistentRead: true,
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      );
      count += page.Count ?? 0;
      start = page.LastEvaluatedKey as typeof start;
    } while (start !== undefined);
    return count;
  }

  close(): void {
    this.#client.destroy();
  }
}

function sortedKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
