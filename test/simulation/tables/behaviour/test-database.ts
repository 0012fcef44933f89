import type { OperationName } from '../database.ts';
import { type DatabaseSettings, type Item, SimulatedDatabase } from '../database.ts';

/** The table of these tests. */
export const TABLE = 'messages';
/** The start of the tests, epoch ms. */
export const START = 1_790_000_000_000;

/** A simulated database whose clock and random numbers a test sets. */
export class TestDatabase {
  readonly database: SimulatedDatabase;
  /** Epoch ms. */
  now = START;
  /** The next random numbers; 0 once they are used up. */
  readonly fractions: number[] = [];

  constructor(settings: Omit<DatabaseSettings, 'now' | 'random'> = {}) {
    this.database = new SimulatedDatabase({
      now: () => this.now,
      random: () => this.fractions.shift() ?? 0,
      ...settings,
    });
  }

  /** Executes an operation on `TABLE`. */
  run<Answer = Record<string, unknown>>(name: OperationName, input: object): Answer {
    return this.database.execute(name, { TableName: TABLE, ...input }) as Answer;
  }

  put(sk: string, attributes: Item = {}, pk = 'a'): void {
    this.run('PutItemCommand', { Item: { ...key(sk, pk), ...attributes } });
  }

  delete(sk: string, pk = 'a'): void {
    this.run('DeleteItemCommand', { Key: key(sk, pk) });
  }

  /** Reads an item. */
  get(sk: string, { consistent = false } = {}, pk = 'a'): Item | undefined {
    return this.run<{ Item?: Item }>('GetItemCommand', {
      Key: key(sk, pk),
      ConsistentRead: consistent,
    }).Item;
  }

  /** The sort keys of the items that a query returns. */
  query(options: object = {}, pk = 'a'): readonly string[] {
    const { Items } = this.run<{ Items: readonly Item[] }>('QueryCommand', {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: pk } },
      ...options,
    });
    return Items.map((item) => item['sk']?.S ?? '');
  }

  /** Prepares a transaction. */
  prepare(TransactItems: readonly object[], token?: string) {
    return this.database.prepare({
      TransactItems,
      ReturnConsumedCapacity: 'TOTAL',
      ...(token !== undefined && { ClientRequestToken: token }),
    });
  }
}

/** A key in the form in which the SDK sees it. */
export function key(sk: string, pk = 'a'): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** An entry of a transaction that puts an item. */
export function putting(sk: string, attributes: Item = {}, options: object = {}): object {
  return { Put: { TableName: TABLE, Item: { ...key(sk), ...attributes }, ...options } };
}

/** A number as an attribute. */
export function number(value: number): { N: string } {
  return { N: String(value) };
}
