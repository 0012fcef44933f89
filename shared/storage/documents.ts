import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { CONFLICT_TRIES_MAX, hasConflict, type ItemKey, pauseBeforeRetry } from './dynamo.ts';
import { toBrokerError } from './failures.ts';
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
    const finish = this.#meter?.begin('read', 0);
    try {
      const answer = await this.#client.send(
        new GetCommand({
          TableName: this.name,
          Key: key,
          ConsistentRead: true,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      );
      finish?.(answer.ConsumedCapacity);
      return answer.Item;
    } catch (error) {
      throw toBrokerError(error);
    }
  }

  /** The documents of a collection in key order, page by page, as they are now. */
  async *all(collection: string, prefix?: string): AsyncGenerator<Document> {
    let start: Document | undefined;
    do {
      const page = await this.#page(collection, prefix, start);
      yield* page.documents;
      start = page.lastKey;
    } while (start !== undefined);
  }

  async #page(
    collection: string,
    prefix: string | undefined,
    start: Document | undefined,
  ): Promise<{ documents: readonly Document[]; lastKey: Document | undefined }> {
    const finish = this.#meter?.begin('read', 0);
    try {
      const answer = await this.#client.send(
        new QueryCommand({
          TableName: this.name,
          KeyConditionExpression:
            prefix === undefined ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
          ExpressionAttributeValues: {
            ':pk': collection,
            ...(prefix === undefined ? {} : { ':prefix': prefix }),
          },
          ConsistentRead: true,
          ReturnConsumedCapacity: 'TOTAL',
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      );
      finish?.(answer.ConsumedCapacity);
      return { documents: answer.Items ?? [], lastKey: answer.LastEvaluatedKey };
    } catch (error) {
      throw toBrokerError(error);
    }
  }

  /** All or nothing, over this and other tables; each entry names its table itself. */
  async transact(writes: readonly DocumentWrite[]): Promise<RefusedWrites> {
    for (let tries = 0; ; tries++) {
      await pauseBeforeRetry(tries, CONFLICT_TRIES_MAX);
      const finish = this.#meter?.begin('transact', writes.length);
      try {
        const answer = await this.#client.send(
          new TransactWriteCommand({
            TransactItems: [...writes],
            ReturnConsumedCapacity: 'TOTAL',
          }),
        );
        finish?.(answer.ConsumedCapacity);
        return [];
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw toBrokerError(error);
        const refused = (error.CancellationReasons ?? []).flatMap((reason, position) =>
          reason.Code === 'ConditionalCheckFailed' ? [position] : [],
        );
        if (refused.length > 0) return refused;
        if (!hasConflict(error)) throw toBrokerError(error);
      }
    }
  }
}
