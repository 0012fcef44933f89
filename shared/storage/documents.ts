import {
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import type { ItemKey } from './dynamo.ts';
import { toBrokerError } from './failures.ts';
import { CONFLICT_TRIES_MAX, isPassing, pauseBeforeRetry } from './retries.ts';
import type { UnitMeter } from './unit-meter.ts';

/** An item as plain values. */
export type Document = Record<string, unknown>;

export type DocumentWrite = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** The positions of the writes whose conditions failed; none = all were carried out. */
export type RefusedWrites = readonly number[];

/**
 * The entities table: documents rather than bytes, rarely written, read whole. Failures come out
 * as those of `Table` do.
 */
export class DocumentTable {
  readonly name: string;
  readonly #client: DynamoDBDocumentClient;
  readonly #meter: UnitMeter | undefined;

  constructor(client: DynamoDBDocumentClient, name: string, meter?: UnitMeter) {
    this.#client = client;
    this.name = name;
    this.#meter = meter;
  }

  /** One document by key, as it is now. */
  async get(key: ItemKey): Promise<Document | undefined> {
    const answer = await this.#run('read', 0, () =>
      this.#client.send(
        new GetCommand({
          TableName: this.name,
          Key: key,
          ConsistentRead: true,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      ),
    );
    return answer.Item;
  }

  /** The documents of a collection in key order, page by page, as they are now. */
  async *all(collection: string, prefix?: string): AsyncGenerator<Document> {
    yield* this.#pages(collection, prefix, true);
  }

  /** The same at half the price, perhaps a moment old. */
  async *allSoon(collection: string, prefix?: string): AsyncGenerator<Document> {
    yield* this.#pages(collection, prefix, false);
  }

  async *#pages(
    collection: string,
    prefix: string | undefined,
    consistent: boolean,
  ): AsyncGenerator<Document> {
    let start: Document | undefined;
    do {
      const page = await this.#page(collection, prefix, consistent, start);
      yield* page.documents;
      start = page.lastKey;
    } while (start !== undefined);
  }

  async #page(
    collection: string,
    prefix: string | undefined,
    consistent: boolean,
    start: Document | undefined,
  ): Promise<{ documents: readonly Document[]; lastKey: Document | undefined }> {
    const answer = await this.#run('read', 0, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.name,
          KeyConditionExpression:
            prefix === undefined ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
          ExpressionAttributeValues: {
            ':pk': collection,
            ...(prefix === undefined ? {} : { ':prefix': prefix }),
          },
          ConsistentRead: consistent,
          ReturnConsumedCapacity: 'TOTAL',
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      ),
    );
    return { documents: answer.Items ?? [], lastKey: answer.LastEvaluatedKey };
  }

  /** Up to `limit` documents of a collection between two sort keys, in order. */
  async range(
    collection: string,
    { from, to }: { readonly from: string; readonly to: string },
    limit: number,
  ): Promise<readonly Document[]> {
    const answer = await this.#run('read', 0, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.name,
          KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
          ExpressionAttributeValues: { ':pk': collection, ':from': from, ':to': to },
          Limit: limit,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      ),
    );
    return answer.Items ?? [];
  }

  /** Writes one document, whatever was there. */
  async put(document: Document): Promise<void> {
    await this.#run('write', 0, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.name,
          Item: document,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      ),
    );
  }

  /** Changes one document. False = its condition failed. */
  async update(
    key: ItemKey,
    update: Omit<UpdateCommandInput, 'TableName' | 'Key'>,
  ): Promise<boolean> {
    const command = new UpdateCommand({
      ...update,
      TableName: this.name,
      Key: key,
      ReturnConsumedCapacity: 'TOTAL',
    });
    try {
      await this.#run('write', 0, () => this.#client.send(command));
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  /** Deletes one document. */
  async delete(key: ItemKey): Promise<void> {
    await this.#run('write', 0, () =>
      this.#client.send(
        new DeleteCommand({ TableName: this.name, Key: key, ReturnConsumedCapacity: 'TOTAL' }),
      ),
    );
  }

  /** All or nothing, over this and other tables; each entry names its table itself. */
  async transact(writes: readonly DocumentWrite[]): Promise<RefusedWrites> {
    for (let tries = 0; ; tries++) {
      await pauseBeforeRetry(tries, CONFLICT_TRIES_MAX);
      try {
        await this.#run('transact', writes.length, () =>
          this.#client.send(
            new TransactWriteCommand({
              TransactItems: [...writes],
              ReturnConsumedCapacity: 'TOTAL',
            }),
          ),
        );
        return [];
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw error;
        const refused = (error.CancellationReasons ?? []).flatMap((reason, position) =>
          reason.Code === 'ConditionalCheckFailed' ? [position] : [],
        );
        if (refused.length > 0) return refused;
        if (!isPassing(error)) throw toBrokerError(error);
      }
    }
  }

  async #run<
    Answer extends { ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined },
  >(
    kind: 'read' | 'write' | 'transact',
    transactItems: number,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const finish = this.#meter?.begin(kind, transactItems);
    try {
      const answer = await send();
      finish?.(answer.ConsumedCapacity);
      return answer;
    } catch (error) {
      finish?.(undefined);
      const isRefusal =
        error instanceof TransactionCanceledException ||
        error instanceof ConditionalCheckFailedException;
      throw isRefusal ? error : toBrokerError(error);
    }
  }
}
