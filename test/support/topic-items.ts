import { type AttributeValue, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { lastingItems } from './lasting-items.ts';
import { engineClient, TABLES } from './start-broker.ts';
import type { TestBroker } from './test-broker.ts';

type Item = Record<string, AttributeValue>;

/** Reads the items of topics and their subscriptions directly from the tables. */
export class TopicItems {
  readonly #client: DynamoDBClient = engineClient();
  readonly #namespace: string;

  constructor({ namespace }: TestBroker) {
    this.#namespace = namespace;
  }

  /** The internal id of an entity, by its path in lower case. */
  async idOf(path: string): Promise<string> {
    const items = await this.#scan(TABLES.entities, this.#namespace);
    const id = items.find(({ key, id: itsId }) => key?.S === path && itsId !== undefined)?.['id']
      ?.S;
    if (id === undefined) throw new Error(`No ${path} is stored.`);
    return id;
  }

  /** The number of items of an entity in the messages table: payload items, and all. */
  async ofEntity(id: string): Promise<{ readonly bodies: number; readonly all: number }> {
    const items = await this.#scan(TABLES.messages, `${id}.`);
    const bodies = items.filter(({ pk }) => pk?.S?.endsWith('p')).length;
    return { bodies, all: items.length };
  }

  /** The number of items of the namespace for entities, rules, and pending work of the sweep. */
  async ofNamespace(): Promise<number> {
    const lasting = lastingItems(this.#namespace);
    const isLasting = ({ pk, sk }: Item) =>
      lasting.some((one) => one.pk === pk?.S && one.sk === sk?.S);
    const items = await this.#scan(TABLES.entities, this.#namespace);
    return items.filter((item) => !isLasting(item)).length;
  }

  async #scan(table: string, prefix: string): Promise<readonly Item[]> {
    const found: Item[] = [];
    let start: Item | undefined;
    do {
      const page = await this.#client.send(
        new ScanCommand({
          TableName: table,
          FilterExpression: 'begins_with(pk, :prefix)',
          ExpressionAttributeValues: { ':prefix': { S: prefix } },
          ConsistentRead: true,
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      );
      found.push(...(page.Items ?? []));
      start = page.LastEvaluatedKey;
    } while (start !== undefined);
    return found;
  }

  close(): void {
    this.#client.destroy();
  }
}
