import {
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
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { Requests, type TableOptions } from './requests.ts';
import type { Item, ItemKey } from './table.ts';
import type { WriteTries } from './write-tries.ts';

const TOTAL = 'TOTAL' as const;

/** An item as plain values. */
export type Document = Record<string, unknown>;

/** The members of a request that hold attributes. */
const ATTRIBUTES = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

/** A request with plain values. */
type Plain<Input> = {
  [Name in keyof Input]: Name extends (typeof ATTRIBUTES)[number]
    ? object | undefined
    : Input[Name];
};

/** A write of one document in a transaction. */
export type DocumentWrite = {
  readonly [Kind in keyof TransactWriteItem]: Plain<NonNullable<TransactWriteItem[Kind]>>;
};

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

/**
 * The entities table: documents of plain values, which are read whole. Throws as `Requests` says.
 */
export class DocumentTable {
  readonly name: string;
  readonly #client: DynamoDBClient;
  readonly #requests: Requests;

  constructor(client: DynamoDBClient, name: string, options: TableOptions) {
    this.#client = client;
    this.name = name;
    this.#requests = new Requests(options);
  }

  /** One document by key, strongly consistent. */
  async get(key: ItemKey): Promise<Document | undefined> {
    const answer = await this.#requests.read({ consistent: true }, () =>
      this.#client.send(
        new GetItemCommand({
          TableName: this.name,
          Key: marshall(key),
          ConsistentRead: true,
          ReturnConsumedCapacity: 'TOTAL',
        }),
      ),
    );
    return answer.Item && unmarshall(answer.Item);
  }

  /** The documents of a collection in key order, page by page, strongly consistent. */
  async *all(collection: string, prefix?: string): AsyncGenerator<Document> {
    yield* this.#pages(collection, prefix, true);
  }

  /** The same eventually consistent, at half the price; `after` = the sort key after which to start. */
  async *allStale(collection: string, prefix?: string, after?: string): AsyncGenerator<Document> {
    const start = after === undefined ? undefined : { pk: collection, sk: after };
    yield* this.#pages(collection, prefix, false, start);
  }

  async *#pages(
    collection: string,
    prefix: string | undefined,
    consistent: boolean,
    after?: Document,
  ): AsyncGenerator<Document> {
    const input = {
      KeyConditionExpression:
        prefix === undefined ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: {
        ':pk': collection,
        ...(prefix === undefined ? {} : { ':prefix': prefix }),
      },
      ConsistentRead: consistent,
    };
    let start = after;
    do {
      const { documents, last } = await this.#query({ ...input, ExclusiveStartKey: start });
      yield* documents;
      start = last;
    } while (start !== undefined);
  }

  async #query(input: Plain<Omit<QueryCommandInput, 'TableName'>>) {
    const { ConsistentRead: consistent = false } = input;
    const request = { ...input, TableName: this.name, ReturnConsumedCapacity: TOTAL };
    const { Items = [], LastEvaluatedKey } = await this.#requests.read({ consistent }, () =>
      this.#client.send(new QueryCommand(marshalled<QueryCommandInput>(request))),
    );
    const documents: readonly Document[] = Items.map((item) => unmarshall(item));
    const last: Document | undefined = LastEvaluatedKey && unmarshall(LastEvaluatedKey);
    return { documents, last };
  }

  /** Up to `limit` documents of a collection between two sort keys, in order, eventually consistent. */
  async range(
    collection: string,
    { from, to }: { readonly from: string; readonly to: string },
    limit: number,
  ): Promise<readonly Document[]> {
    const { documents } = await this.#query({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: { ':pk': collection, ':from': from, ':to': to },
      Limit: limit,
    });
    return documents;
  }

  /** Writes one document without a condition. */
  async put(document: Document): Promise<void> {
    const input = { TableName: this.name, Item: document, ReturnConsumedCapacity: TOTAL };
    await this.#write((tries) =>
      this.#client.send(tries.watch(new PutItemCommand(marshalled<PutItemCommandInput>(input)))),
    );
  }

  /** Changes one document. */
  async update(
    key: ItemKey,
    update: Omit<Plain<UpdateItemCommandInput>, 'TableName' | 'Key'>,
  ): Promise<DocumentWritten> {
    const input = { ...update, TableName: this.name, Key: key, ReturnConsumedCapacity: TOTAL };
    return await this.#write((tries) =>
      this.#client.send(
        tries.watch(new UpdateItemCommand(marshalled<UpdateItemCommandInput>(input))),
      ),
    );
  }

  /** Deletes one document, on a condition if one is given. */
  async delete(
    key: ItemKey,
    options: Omit<Plain<DeleteItemCommandInput>, 'TableName' | 'Key'> = {},
  ): Promise<DocumentWritten> {
    const input = { ...options, TableName: this.name, Key: key, ReturnConsumedCapacity: TOTAL };
    return await this.#write((tries) =>
      this.#client.send(
        tries.watch(new DeleteItemCommand(marshalled<DeleteItemCommandInput>(input))),
      ),
    );
  }

  /** A transaction over this and other tables; each write names its table. */
  async transact(writes: readonly DocumentWrite[]): Promise<DocumentsWritten> {
    const TransactItems = writes.map((write) =>
      Object.fromEntries(
        Object.entries(write).map(([kind, input]) => [kind, marshalled<object>(input)]),
      ),
    );
    const input = { TransactItems, ReturnConsumedCapacity: TOTAL };
    const outcome = await this.#requests.transact(writes.length, (tries) =>
      this.#client.send(tries.watch(new TransactWriteItemsCommand(input))),
    );
    if (outcome.done) return { refused: [], isUncertain: false };
    return { refused: [...outcome.refused.keys()], isUncertain: outcome.isUncertain };
  }

  async #write(
    send: (tries: WriteTries) => Promise<{ readonly Attributes?: Item | undefined }>,
  ): Promise<DocumentWritten> {
    const written = await this.#requests.write(send);
    return written.done
      ? { done: true, document: written.item && unmarshall(written.item), isUncertain: false }
      : { done: false, document: undefined, isUncertain: written.isUncertain };
  }
}

/** The request of plain values as DynamoDB takes it; without members that are undefined. */
function marshalled<Input extends object>(plain: Plain<Input>): Input {
  const request: Record<string, unknown> = { ...plain };
  for (const name of ATTRIBUTES) {
    if (request[name] === undefined) continue;
    request[name] = marshall(request[name], { removeUndefinedValues: true });
  }
  return request as Input;
}
