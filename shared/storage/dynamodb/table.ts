import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DeleteItemCommandInput,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
  type QueryCommandInput,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { STORAGE_LIMITS } from '../../domain/limits.ts';
import { chunks } from './chunks.ts';
import {
  type Repeating,
  Requests,
  type TableOptions,
  type Transacted,
  type Written,
} from './requests.ts';
import { pauseBeforeRetry, UNPROCESSED_TRIES_MAX } from './retries.ts';

/** An item in the marshalled form of DynamoDB. */
export type Item = Record<string, AttributeValue>;

/** The key of an item. */
export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** The condition of a write, and whether its refusal in a transaction returns the item. */
type Condition = Pick<
  PutItemCommandInput,
  | 'ConditionExpression'
  | 'ExpressionAttributeNames'
  | 'ExpressionAttributeValues'
  | 'ReturnValuesOnConditionCheckFailure'
>;

/** A write of one item, alone or in a transaction. A check only adds its condition to a transaction. */
export type Write =
  /** Without a condition, the item is new, under a key that nothing else uses. */
  | (Condition & { readonly put: Item })
  | (Condition & { readonly update: ItemKey; readonly UpdateExpression: string })
  | (Condition & { readonly delete: ItemKey })
  | (Condition & { readonly check: ItemKey; readonly ConditionExpression: string });

type Update = Omit<UpdateItemCommandInput, 'TableName' | 'Key'>;
type Put = Omit<PutItemCommandInput, 'TableName' | 'Item'>;

type Delete = Omit<DeleteItemCommandInput, 'TableName' | 'Key'>;

/** The range of a query: sort keys, both included, and the size of a page. */
interface Range {
  readonly from: string;
  readonly to: string;
  /** Absent = as many as the database returns, about 1 MB. */
  readonly limit: number | undefined;
  readonly consistent: boolean;
}

/** Appended to a sort key: sorts after it, and before the key of a message that was put back beside it. */
export const JUST_AFTER = '!';
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

/** The marshalled form of a key. */
export function keyItem(key: ItemKey): Item {
  return { pk: { S: key.pk }, sk: { S: key.sk } };
}

/** The key of an item. */
export function keyOfItem({ pk, sk }: Item): ItemKey {
  return { pk: pk?.S ?? '', sk: sk?.S ?? '' };
}

/**
 * One DynamoDB table, with the requests that this project uses. A failed condition returns the item. Throws as
 * `Requests` says.
 */
export class Table {
  readonly name: string;
  /** The most items in one transaction. */
  readonly transactionItems: number;
  readonly #client: DynamoDBClient;
  readonly #options: TableOptions;
  readonly #requests: Requests;

  constructor(client: DynamoDBClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.transactionItems = options.transactionItems ?? STORAGE_LIMITS.transactionItems;
    this.#options = options;
    this.#requests = new Requests(options);
  }

  /** One item by key. */
  async get(key: ItemKey, { consistent }: { consistent: boolean }): Promise<Item | undefined> {
    const answer = await this.#requests.read({ consistent }, () =>
      this.#client.send(
        new GetItemCommand({
          TableName: this.name,
          Key: keyItem(key),
          ConsistentRead: consistent,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      ),
    );
    return answer.Item;
  }

  /** One page of a collection, in key order. */
  async query(
    input: Omit<QueryCommandInput, 'TableName'>,
  ): Promise<{ items: readonly Item[]; lastKey: Item | undefined }> {
    const { ConsistentRead: consistent = false } = input;
    const answer = await this.#requests.read({ consistent }, () =>
      this.#client.send(
        new QueryCommand({ ...input, TableName: this.name, ReturnConsumedCapacity: 'TOTAL' }),
      ),
    );
    return { items: answer.Items ?? [], lastKey: answer.LastEvaluatedKey };
  }

  /** All items of a query, page by page. */
  async *all(input: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item> {
    let start = input.ExclusiveStartKey;
    do {
      const page = await this.query({ ...input, ExclusiveStartKey: start });
      yield* page.items;
      start = page.lastKey;
    } while (start !== undefined);
  }

  /**
   * One page of a collection between two sort keys, in key order; `next` = the sort key at which to continue, undefined
   * at the end.
   */
  async range(
    collection: string,
    { from, to, limit, consistent }: Range,
  ): Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }> {
    const { items, lastKey } = await this.query({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: collection },
        ':from': { S: from },
        ':to': { S: to },
      },
      ConsistentRead: consistent,
      Limit: limit,
    });
    const last = lastKey?.['sk']?.S;
    return { items, next: last === undefined ? undefined : `${last}${JUST_AFTER}` };
  }

  /** Many items by key, in any order; those that do not exist are left out. */
  async getMany(
    keys: readonly ItemKey[],
    { consistent }: { consistent: boolean },
  ): Promise<readonly Item[]> {
    const pages = chunks(keys, BATCH_GET_MAX).map((page) => this.#getPage(page, consistent));
    return (await Promise.all(pages)).flat();
  }

  async #getPage(keys: readonly ItemKey[], consistent: boolean): Promise<Item[]> {
    const found: Item[] = [];
    let pending = keys.map(keyItem);
    for (let tries = 0; pending.length > 0; tries++) {
      await pauseBeforeRetry(this.#options, tries, UNPROCESSED_TRIES_MAX);
      const request = { [this.name]: { Keys: pending, ConsistentRead: consistent } };
      const answer = await this.#requests.read({ consistent, items: pending.length }, () =>
        this.#client.send(
          new BatchGetItemCommand({ RequestItems: request, ReturnConsumedCapacity: 'TOTAL' }),
        ),
      );
      found.push(...(answer.Responses?.[this.name] ?? []));
      pending = answer.UnprocessedKeys?.[this.name]?.Keys ?? [];
    }
    return found;
  }

  /** Writes one item, on a condition if one is given. */
  async put(item: Item, options: Put = {}, repeating?: Repeating): Promise<Written> {
    const input = { ...RETURN_OLD, ...options, TableName: this.name, Item: item };
    return await this.#requests.write(
      (tries) => this.#client.send(tries.watch(new PutItemCommand(input))),
      repeating,
    );
  }

  /** Changes one item by key. `ReturnValues` decides what `item` holds afterwards. */
  async update(key: ItemKey, update: Update, repeating?: Repeating): Promise<Written> {
    const input = { ...RETURN_OLD, ...update, TableName: this.name, Key: keyItem(key) };
    return await this.#requests.write(
      (tries) => this.#client.send(tries.watch(new UpdateItemCommand(input))),
      repeating,
    );
  }

  /** Deletes one item by key. */
  async delete(key: ItemKey, options: Delete = {}): Promise<Written> {
    const input = { ...RETURN_OLD, ...options, TableName: this.name, Key: keyItem(key) };
    return await this.#requests.write((tries) =>
      this.#client.send(tries.watch(new DeleteItemCommand(input))),
    );
  }

  /** Puts items without conditions, in any order, not atomic. Returns when all are durable. */
  async putMany(items: readonly Item[]): Promise<void> {
    await this.writeMany(items, []);
  }

  /** Deletes items by key, as `putMany` puts them. */
  async deleteMany(keys: readonly ItemKey[]): Promise<void> {
    await this.writeMany([], keys);
  }

  /** Puts some items and deletes others, as `putMany` does. None may be named twice. */
  async writeMany(items: readonly Item[], keys: readonly ItemKey[]): Promise<void> {
    const requests: WriteRequest[] = [
      ...items.map((Item) => ({ PutRequest: { Item } })),
      ...keys.map((key) => ({ DeleteRequest: { Key: keyItem(key) } })),
    ];
    await Promise.all(chunks(requests, BATCH_WRITE_MAX).map((page) => this.#writePage(page)));
  }

  async #writePage(requests: readonly WriteRequest[]): Promise<void> {
    let pending: WriteRequest[] = [...requests];
    for (let tries = 0; pending.length > 0; tries++) {
      await pauseBeforeRetry(this.#options, tries, UNPROCESSED_TRIES_MAX);
      const request = { [this.name]: pending };
      const answer = await this.#requests.writeBatch(pending.length, () =>
        this.#client.send(
          new BatchWriteItemCommand({ RequestItems: request, ReturnConsumedCapacity: 'TOTAL' }),
        ),
      );
      pending = answer.UnprocessedItems?.[this.name] ?? [];
    }
  }

  /** A transaction: all or nothing. */
  async transact(writes: readonly Write[]): Promise<Transacted> {
    const TransactItems = writes.map((write) => toTransactItem(this.name, write));
    const input = { TransactItems, ReturnConsumedCapacity: 'TOTAL' as const };
    return await this.#requests.transact(writes.length, (tries) =>
      this.#client.send(tries.watch(new TransactWriteItemsCommand(input))),
    );
  }
}

const RETURN_OLD = {
  ReturnConsumedCapacity: 'TOTAL',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;

function toTransactItem(TableName: string, write: Write): TransactWriteItem {
  if ('put' in write) {
    const { put: Item, ...condition } = write;
    return { Put: { TableName, Item, ...condition } };
  }
  if ('update' in write) {
    const { update, ...change } = write;
    return { Update: { TableName, Key: keyItem(update), ...change } };
  }
  if ('delete' in write) {
    const { delete: key, ...condition } = write;
    return { Delete: { TableName, Key: keyItem(key), ...condition } };
  }
  const { check, ...condition } = write;
  return { ConditionCheck: { TableName, Key: keyItem(check), ...condition } };
}
