import {
  type AttributeValue,
  BatchWriteItemCommand,
  type DynamoDBClient,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { engineClient, TABLES } from './start-broker.ts';

type Item = Record<string, AttributeValue>;

const BATCH = 25;
/** The time of creation: older than any send that may be under way. */
const OLD = 0;

/** Writes payload items of a queue, and blocks that refer to them, directly into the tables. */
export class PayloadItems {
  readonly #client: DynamoDBClient = engineClient();
  readonly #id: string;

  /** `id` = the internal id of the queue. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Writes payloads with these names, as a crash may leave them. */
  async put(names: readonly string[]): Promise<void> {
    const q = { N: String(OLD) };
    const d = { B: Uint8Array.of(0) };
    await this.#write(names.map((name) => ({ pk: this.#payloads, sk: { S: `${name}.0` }, q, d })));
  }

  /** Writes blocks that refer to these payloads. */
  async name(names: readonly string[]): Promise<void> {
    await this.#write(
      names.map((name, i) => ({
        pk: { S: `${this.#id}.0m0` },
        sk: { S: `b${(i + 1).toString(16).padStart(12, '0')}` },
        p: { S: name },
        q: { N: String(OLD) },
        s: { M: { 0: { M: {} } } },
      })),
    );
  }

  /** The names of all stored payloads of the queue. */
  async names(): Promise<readonly string[]> {
    const found: string[] = [];
    let start: Item | undefined;
    do {
      const page = await this.#client.send(
        new QueryCommand({
          TableName: TABLES.messages,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': this.#payloads },
          ConsistentRead: true,
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      );
      found.push(...(page.Items ?? []).map(({ sk }) => (sk?.S ?? '').replace(/\.\d+$/, '')));
      start = page.LastEvaluatedKey;
    } while (start !== undefined);
    return found;
  }

  close(): void {
    this.#client.destroy();
  }

  get #payloads() {
    return { S: `${this.#id}.0p` };
  }

  async #write(items: readonly Item[]): Promise<void> {
    for (let i = 0; i < items.length; i += BATCH) {
      const page = items.slice(i, i + BATCH).map((Item) => ({ PutRequest: { Item } }));
      await this.#client.send(
        new BatchWriteItemCommand({ RequestItems: { [TABLES.messages]: page } }),
      );
    }
  }
}
