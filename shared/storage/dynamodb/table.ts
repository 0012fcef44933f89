import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  DeleteItemCommand,
  type DeleteItemCommandInput,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
  type QueryCommandInput,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import type { UnitMeter } from './capacity-meter.ts';
import { chunks } from './chunks.ts';
import { orUnknown, toBrokerError, unknownOutcome } from './errors.ts';
import {
  CONFLICT_TRIES_MAX,
  isConflict,
  isPassing,
  pauseBeforeRetry,
  type RetryTiming,
} from './retries.ts';
import { WriteTries } from './write-tries.ts';

export type Item = Record<string, AttributeValue>;

export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** A conditional write either happened, or left the item that stood in its way. */
export type Written =
  | { readonly done: true; readonly item: Item | undefined }
  | {
      readonly done: false;
      readonly old: Item | undefined;
      /** An earlier try of this write may have been carried out, its answer lost. */
      readonly isRepeated: boolean;
    };

/** A transaction either happened, or names the items whose conditions failed, by position. */
export type Transacted =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly refused: ReadonlyMap<number, Item | undefined>;
      /** An earlier try may have been carried out, its answer lost. */
      readonly isRepeated: boolean;
    };

type Update = Omit<UpdateItemCommandInput, 'TableName' | 'Key'>;
type Put = Omit<PutItemCommandInput, 'TableName' | 'Item'>;

/**
 * Whether a write may be repeated after its answer was lost. Most may: their condition can hold only once,
 * or a second time does no harm. One that may not is sent `once`; then nothing heard is an unknown outcome.
 */
export interface Repeating {
  readonly once?: boolean;
}
type Delete = Omit<DeleteItemCommandInput, 'TableName' | 'Key'>;

/** The service takes no more items in one transaction. */
export const TRANSACTION_ITEMS_MAX = 100;

const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;
const UNPROCESSED_TRIES_MAX = 8;

/** The marshalled form of a key. */
export function keyItem(key: ItemKey): Item {
  return { pk: { S: key.pk }, sk: { S: key.sk } };
}

/** What a table is used with. */
export interface TableOptions extends RetryTiming {
  readonly meter?: UnitMeter | undefined;
}

/**
 * One table of the DynamoDB API, in the few forms this project uses. Asks every write for the item
 * that stood in its way, counts units, and lets no exception of the SDK out: throttling becomes
 * ServiceBusy, time-outs ServiceTimeout.
 */
export class Table {
  readonly name: string;
  readonly #client: DynamoDBClient;
  readonly #options: TableOptions;

  constructor(client: DynamoDBClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.#options = options;
  }

  /** One item by key. */
  async get(key: ItemKey, { consistent }: { consistent: boolean }): Promise<Item | undefined> {
    const answer = await this.#run('read', () =>
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
    const answer = await this.#run('read', () =>
      this.#client.send(
        new QueryCommand({ ...input, TableName: this.name, ReturnConsumedCapacity: 'TOTAL' }),
      ),
    );
    return { items: answer.Items ?? [], lastKey: answer.LastEvaluatedKey };
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
      const answer = await this.#run('read', () =>
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
    return await this.#write(
      (tries) => this.#client.send(tries.watch(new PutItemCommand(input))),
      repeating,
    );
  }

  /** Changes one item by key. `ReturnValues` decides what `item` holds afterwards. */
  async update(key: ItemKey, update: Update, repeating?: Repeating): Promise<Written> {
    const input = { ...RETURN_OLD, ...update, TableName: this.name, Key: keyItem(key) };
    return await this.#write(
      (tries) => this.#client.send(tries.watch(new UpdateItemCommand(input))),
      repeating,
    );
  }

  /** Deletes one item by key. */
  async delete(key: ItemKey, options: Delete = {}): Promise<Written> {
    const input = { ...RETURN_OLD, ...options, TableName: this.name, Key: keyItem(key) };
    return await this.#write((tries) =>
      this.#client.send(tries.watch(new DeleteItemCommand(input))),
    );
  }

  /** Puts and deletes without conditions, in any order, not atomic. Returns when all are durable. */
  async writeMany(requests: readonly WriteRequest[]): Promise<void> {
    await Promise.all(chunks(requests, BATCH_WRITE_MAX).map((page) => this.#writePage(page)));
  }

  async #writePage(requests: readonly WriteRequest[]): Promise<void> {
    let pending: WriteRequest[] = [...requests];
    for (let tries = 0; pending.length > 0; tries++) {
      await pauseBeforeRetry(this.#options, tries, UNPROCESSED_TRIES_MAX);
      const request = { [this.name]: pending };
      const answer = await this.#run('write', () =>
        this.#client.send(
          new BatchWriteItemCommand({ RequestItems: request, ReturnConsumedCapacity: 'TOTAL' }),
        ),
      );
      pending = answer.UnprocessedItems?.[this.name] ?? [];
    }
  }

  async #write(
    send: (tries: WriteTries) => Promise<{
      Attributes?: Item | undefined;
      ConsumedCapacity?: ConsumedCapacity | undefined;
    }>,
    { once = false }: Repeating = {},
  ): Promise<Written> {
    const tries = new WriteTries({ once });
    for (let count = 0; ; count++) {
      try {
        await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
        const answer = await this.#run('write', () => send(tries));
        return { done: true, item: answer.Attributes };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return { done: false, old: error.Item, isRepeated: tries.mayHaveHappened };
        }
        if (isConflict(error)) continue;
        throw orUnknown(tries, error);
      }
    }
  }

  /** All or nothing, over one or several tables; each entry names its table itself. */
  async transact(items: readonly TransactWriteItem[]): Promise<Transacted> {
    const input = { TransactItems: [...items], ReturnConsumedCapacity: 'TOTAL' as const };
    const tries = new WriteTries({ once: false });
    for (let count = 0; ; count++) {
      await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
      try {
        // Its tries bear one token, by which the database knows them: carried out is carried out once.
        const command = tries.watch(new TransactWriteItemsCommand(input));
        await this.#run('transact', () => this.#client.send(command), items.length);
        return { done: true };
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw orUnknown(tries, error);
        const isRepeated = tries.mayHaveHappened;
        const refused = refusedItems(error);
        if (refused.size > 0) return { done: false, refused, isRepeated };
        // To the database the next command is another transaction: it could undo what was done since.
        if (isRepeated) throw unknownOutcome(error);
        if (!isPassing(error)) throw toBrokerError(error);
      }
    }
  }

  async #run<
    Answer extends { ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined },
  >(
    kind: 'read' | 'write' | 'transact',
    send: () => Promise<Answer>,
    transactItems = 0,
  ): Promise<Answer> {
    const finish = this.#options.meter?.begin(kind, transactItems);
    try {
      const answer = await send();
      finish?.(answer.ConsumedCapacity);
      return answer;
    } catch (error) {
      finish?.(undefined);
      if (
        error instanceof ConditionalCheckFailedException ||
        error instanceof TransactionCanceledException ||
        isConflict(error)
      ) {
        throw error;
      }
      throw toBrokerError(error);
    }
  }
}

const RETURN_OLD = {
  ReturnConsumedCapacity: 'TOTAL',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;

function refusedItems(error: TransactionCanceledException): Map<number, Item | undefined> {
  const refused = new Map<number, Item | undefined>();
  for (const [position, reason] of (error.CancellationReasons ?? []).entries()) {
    if (reason.Code === 'ConditionalCheckFailed') refused.set(position, reason.Item);
  }
  return refused;
}
