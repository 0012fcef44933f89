import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  type DeleteCommandInput,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { Requests, type TableOptions } from './requests.ts';
import { pauseBeforeRetry, UNPROCESSED_TRIES_MAX } from './retries.ts';
import type { ItemKey } from './table.ts';
import type { WriteTries } from './write-tries.ts';

const TOTAL = 'TOTAL' as const;

/** An item as plain values. */
export type Document = Record<string, unknown>;

/** A write of one document in a transaction. */
export type DocumentWrite = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** The outcome of a transaction. */
export interface DocumentsWritten {
  /** The positions of the writes whose conditions failed; empty = the transaction took effect. */
  readonly refused: readonly number[];
  /** An earlier try may have taken effect, its answer lost, so a refusal proves nothing. */
  readonly isUncertain: boolean;
}

/** The outcome of a conditional write of one document, with the document that `ReturnValues` asks for. */
export interface DocumentWritten {
  readonly done: boolean;
  readonly document: Document | undefined;
  /** As in `DocumentsWritten`. */
  readonly isUncertain: boolean;
}

/** Where to begin in a collection, and how much to read at a time. */
export interface From {
  /** The sort key after which to start; absent = at the first. */
  readonly after?: string | undefined;
  /** Documents in one request; absent = as many as the database returns, about 1 MB. */
  readonly pageSize?: number;
}

/** A client for plain JavaScript values; namespaces of one process may share it. */
export function documentClientOf(client: DynamoDBClient): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/**
 * The entities table: documents of plain values, which are read whole. Throws as `Requests` says.
 */
export class DocumentTable {
  readonly name: string;
  readonly #client: DynamoDBDocumentClient;
  readonly #options: TableOptions;
  readonly #requests: Requests;

  constructor(client: DynamoDBDocumentClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.#options = options;
    this.#requests = new Requests(options);
  }

  /** One document by key, strongly consistent. */
  async get(key: ItemKey): Promise<Document | undefined> {
    const answer = await this.#requests.read({ consistent: true }, () =>
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

  /** Up to 100 documents by key, in any order, strongly consistent; those that do not exist are left out. */
  async getMany(keys: readonly ItemKey[]): Promise<readonly Document[]> {
    const found: Document[] = [];
    let wanted: Document[] = keys.map((key) => ({ ...key }));
    for (let tries = 0; wanted.length > 0; tries++) {
      await pauseBeforeRetry(this.#options, tries, UNPROCESSED_TRIES_MAX);
      const RequestItems = { [this.name]: { Keys: wanted, ConsistentRead: true } };
      const answer = await this.#requests.read({ consistent: true, items: wanted.length }, () =>
        this.#client.send(new BatchGetCommand({ RequestItems, ReturnConsumedCapacity: TOTAL })),
      );
      found.push(...(answer.Responses?.[this.name] ?? []));
      // The service leaves keys for a later request if the answer would be too large.
      wanted = answer.UnprocessedKeys?.[this.name]?.Keys ?? [];
    }
    return found;
  }

  /** The documents of a collection in key order, page by page, strongly consistent. */
  async *all(collection: string, prefix?: string, from?: From): AsyncGenerator<Document> {
    yield* this.#pages(collection, prefix, true, from);
  }

  /** The same eventually consistent, at half the price; `after` = the sort key after which to start. */
  async *allStale(collection: string, prefix?: string, after?: string): AsyncGenerator<Document> {
    yield* this.#pages(collection, prefix, false, { after });
  }

  async *#pages(
    collection: string,
    prefix: string | undefined,
    consistent: boolean,
    { after, pageSize }: From = {},
  ): AsyncGenerator<Document> {
    const input = {
      TableName: this.name,
      KeyConditionExpression:
        prefix === undefined ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: {
        ':pk': collection,
        ...(prefix === undefined ? {} : { ':prefix': prefix }),
      },
      ConsistentRead: consistent,
      Limit: pageSize,
      ReturnConsumedCapacity: 'TOTAL',
    } as const;
    let start: Document | undefined =
      after === undefined ? undefined : { pk: collection, sk: after };
    do {
      const from = start;
      const { Items = [], LastEvaluatedKey } = await this.#requests.read({ consistent }, () =>
        this.#client.send(new QueryCommand({ ...input, ExclusiveStartKey: from })),
      );
      yield* Items;
      start = LastEvaluatedKey;
    } while (start !== undefined);
  }

  /** Up to `limit` documents of a collection between two sort keys, in order, eventually consistent. */
  async range(
    collection: string,
    { from, to }: { readonly from: string; readonly to: string },
    limit: number,
  ): Promise<readonly Document[]> {
    const answer = await this.#requests.read({ consistent: false }, () =>
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

  /** Writes one document without a condition. */
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

  /** A transaction over this and other tables; each write names its table. */
  async transact(writes: readonly DocumentWrite[]): Promise<DocumentsWritten> {
    const input = { TransactItems: [...writes], ReturnConsumedCapacity: TOTAL };
    const outcome = await this.#requests.transact(writes.length, (tries) =>
      this.#client.send(tries.watch(new TransactWriteCommand(input))),
    );
    if (outcome.done) return { refused: [], isUncertain: false };
    return { refused: [...outcome.refused.keys()], isUncertain: outcome.isUncertain };
  }

  async #write(
    send: (tries: WriteTries) => Promise<{ readonly Attributes?: Document | undefined }>,
  ): Promise<DocumentWritten> {
    const written = await this.#requests.write(send);
    return written.done
      ? { done: true, document: written.item, isUncertain: false }
      : { done: false, document: undefined, isUncertain: written.isUncertain };
  }
}
