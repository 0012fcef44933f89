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
import { Requests, type TableOptions } from './requests.ts';
import type { ItemKey } from './table.ts';
import type { WriteTries } from './write-tries.ts';

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
 * as `Requests` says.
 */
export class DocumentTable {
  readonly name: string;
  readonly #client: DynamoDBDocumentClient;
  readonly #requests: Requests;

  constructor(client: DynamoDBDocumentClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.#requests = new Requests(options);
  }

  /** One document by key, as it is now. */
  async get(key: ItemKey): Promise<Document | undefined> {
    const answer = await this.#requests.send('read', () =>
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
    const answer = await this.#requests.send('read', () =>
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
    const answer = await this.#requests.send('read', () =>
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

  /** All or nothing, over this and other tables; each entry names its table itself. */
  async transact(writes: readonly DocumentWrite[]): Promise<DocumentsWritten> {
    const input = { TransactItems: [...writes], ReturnConsumedCapacity: TOTAL };
    const outcome = await this.#requests.transact(writes.length, (tries) =>
      this.#client.send(tries.watch(new TransactWriteCommand(input))),
    );
    if (outcome.done) return { refused: [], isRepeated: false };
    return { refused: [...outcome.refused.keys()], isRepeated: outcome.isRepeated };
  }

  async #write(
    send: (tries: WriteTries) => Promise<{ readonly Attributes?: Document | undefined }>,
  ): Promise<DocumentWritten> {
    const written = await this.#requests.write(send);
    return written.done
      ? { done: true, document: written.item, isRepeated: false }
      : { done: false, document: undefined, isRepeated: written.isRepeated };
  }
}
