import {
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DeleteCommandInput,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { orUnknown, toBrokerError, unknownOutcome } from './errors.ts';
import { CONFLICT_TRIES_MAX, isConflict, isPassing, pauseBeforeRetry } from './retries.ts';
import type { ItemKey, TableOptions } from './table.ts';
import { WriteTries } from './write-tries.ts';

const TOTAL = 'TOTAL' as const;

/** An item as plain values. */
export type Document = Record<string, unknown>;

export type DocumentWrite = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** What became of some writes that go in together. */
export interface DocumentsWritten {
  /** The positions of those whose conditions failed; none = all were carried out. */
  readonly refused: readonly number[];
  /** An earlier try may have been carried out, its answer lost: then a refusal says nothing. */
  readonly isRepeated: boolean;
}

/** A conditional write of one document: done or not, and the document as `ReturnValues` asks for it. */
export interface DocumentWritten {
  readonly done: boolean;
  readonly document: Document | undefined;
  /** As above. */
  readonly isRepeated: boolean;
}

/**
 * The entities table: documents rather than bytes, rarely written, read whole. Failures come out
 * as those of `Table` do.
 */
export class DocumentTable {
  readonly name: string;
  readonly #client: DynamoDBDocumentClient;
  readonly #options: TableOptions;

  constructor(client: DynamoDBDocumentClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.#options = options;
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

  /** The same at half the price, perhaps a moment old; `after` = the sort key behind which to begin. */
  async *allSoon(collection: string, prefix?: string, after?: string): AsyncGenerator<Document> {
    const start = after === undefined ? undefined : { pk: collection, sk: after };
    yield* this.#pages(collection, prefix, false, start);
  }

  async *#pages(
    collection: string,
    prefix: string | undefined,
    consistent: boolean,
    after?: Document,
  ): AsyncGenerator<Document> {
    let start = after;
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
    const input = { TableName: this.name, Item: document, ReturnConsumedCapacity: TOTAL };
    await this.#write((tries) => this.#client.send(tries.watch(new PutCommand(input))));
  }

  /** Changes one document. */
  async update(
    key: ItemKey,
    update: Omit<UpdateCommandInput, 'TableName' | 'Key'>,
  ): Promise<DocumentWritten> {
    const input = { ...update, TableName: this.name, Key: key, ReturnConsumedCapacity: TOTAL };
    return await this.#write((tries) => this.#client.send(tries.watch(new UpdateCommand(input))));
  }

  /** Deletes one document, on a condition if one is given. */
  async delete(
    key: ItemKey,
    options: Omit<DeleteCommandInput, 'TableName' | 'Key'> = {},
  ): Promise<DocumentWritten> {
    const input = { ...options, TableName: this.name, Key: key, ReturnConsumedCapacity: TOTAL };
    return await this.#write((tries) => this.#client.send(tries.watch(new DeleteCommand(input))));
  }

  async #write(
    send: (tries: WriteTries) => Promise<{
      Attributes?: Document | undefined;
      ConsumedCapacity?: ConsumedCapacity | undefined;
    }>,
  ): Promise<DocumentWritten> {
    const tries = new WriteTries({ once: false });
    for (let count = 0; ; count++) {
      try {
        await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
        const { Attributes } = await this.#run('write', 0, () => send(tries));
        return { done: true, document: Attributes, isRepeated: false };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return { done: false, document: undefined, isRepeated: tries.mayHaveHappened };
        }
        if (isConflict(error)) continue;
        throw orUnknown(tries, error);
      }
    }
  }

  /** All or nothing, over this and other tables; each entry names its table itself. */
  async transact(writes: readonly DocumentWrite[]): Promise<DocumentsWritten> {
    const input = { TransactItems: [...writes], ReturnConsumedCapacity: TOTAL };
    const tries = new WriteTries({ once: false });
    for (let count = 0; ; count++) {
      await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
      try {
        // Its tries bear one token, by which the database knows them: carried out is carried out once.
        const command = tries.watch(new TransactWriteCommand(input));
        await this.#run('transact', writes.length, () => this.#client.send(command));
        return { refused: [], isRepeated: false };
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw orUnknown(tries, error);
        const isRepeated = tries.mayHaveHappened;
        const refused = (error.CancellationReasons ?? []).flatMap((reason, position) =>
          reason.Code === 'ConditionalCheckFailed' ? [position] : [],
        );
        if (refused.length > 0) return { refused, isRepeated };
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
    transactItems: number,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const finish = this.#options.meter?.begin(kind, transactItems);
    try {
      const answer = await send();
      finish?.(answer.ConsumedCapacity);
      return answer;
    } catch (error) {
      finish?.(undefined);
      const isRefusal =
        error instanceof TransactionCanceledException ||
        error instanceof ConditionalCheckFailedException ||
        isConflict(error);
      throw isRefusal ? error : toBrokerError(error);
    }
  }
}
