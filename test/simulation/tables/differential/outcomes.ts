import type { AttributeValue, CancellationReason } from '@aws-sdk/client-dynamodb';
import { type Item, membersOf } from '../attribute-values.ts';
import { canonicalNumber } from '../numbers.ts';

/** The outcome of a request, in a form that can be compared. */
export interface Outcome {
  /** The name of the exception; absent = the request succeeded. */
  readonly error?: string;
  /** The existing item in an exception, or its reason for each entry of a transaction. */
  readonly shown?: unknown;
  /** The answer without its cost. */
  readonly answer?: unknown;
  /** The consumed units, if the answer has them. */
  readonly units?: number;
}

/** Waits for an answer and returns the outcome. */
export async function outcomeOf(answered: Promise<object>): Promise<Outcome> {
  try {
    return succeeded(await answered);
  } catch (error) {
    return failed(error);
  }
}

interface Consumed {
  readonly CapacityUnits?: number;
}

function succeeded(answer: object): Outcome {
  const {
    ConsumedCapacity,
    $metadata: _,
    ...rest
  } = answer as {
    readonly ConsumedCapacity?: Consumed | readonly Consumed[];
    readonly $metadata?: object;
  };
  const costs = [ConsumedCapacity ?? []].flat() as readonly Consumed[];
  const units = costs.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
  return { answer: plain(rest), ...(ConsumedCapacity !== undefined && { units }) };
}

interface Failure {
  readonly name: string;
  readonly Item?: Item;
  readonly CancellationReasons?: readonly CancellationReason[];
}

function failed(error: unknown): Outcome {
  const { name, Item, CancellationReasons } = error as Failure;
  const reasons = CancellationReasons?.map(({ Code, Item }) => [Code, Item && plainItem(Item)]);
  return { error: name, shown: reasons ?? (Item && plainItem(Item)) };
}

/** An answer without undefined fields, with its items in plain form. */
function plain(answer: object): unknown {
  return Object.fromEntries(
    Object.entries(answer as Record<string, unknown>).flatMap(([field, value]) => {
      if (value === undefined || field === 'ItemCollectionMetrics') return [];
      if (field === 'Items') return [[field, (value as Item[]).map(plainItem)]];
      if (field.startsWith('Unprocessed')) return [[field, counts(value as object)]];
      if (field === 'Responses') return [[field, plainResponses(answer as Responses)]];
      if (ITEMS.has(field)) return [[field, plainItem(value as Item)]];
      return [[field, value]];
    }),
  );
}

/** Only the number of unprocessed items, because the engine chooses them. */
function counts(unprocessed: object): unknown {
  return Object.entries(unprocessed as Record<string, { Keys?: object[] } | object[]>).map(
    ([table, left]) => [table, (Array.isArray(left) ? left : (left.Keys ?? [])).length],
  );
}

const ITEMS = new Set(['Item', 'Attributes', 'LastEvaluatedKey']);

interface Responses {
  readonly Responses?: Record<string, Item[]>;
  readonly UnprocessedKeys?: object;
}

/** The items of a batch in a fixed order, or their number if the engine chose to leave some out. */
function plainResponses({ Responses = {}, UnprocessedKeys = {} }: Responses): unknown {
  const isWhole = Object.keys(UnprocessedKeys).length === 0;
  return Object.entries(Responses).map(([table, items]) => [
    table,
    isWhole ? items.map((item) => JSON.stringify(plainItem(item))).sort() : items.length,
  ]);
}

/** An item with sorted names and sets, and with bytes as text. */
export function plainItem(item: Item): unknown {
  return Object.entries(item)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, plainValue(value)]);
}

function plainValue(value: AttributeValue): unknown {
  if (value.M !== undefined) return { M: plainItem(value.M) };
  if (value.L !== undefined) return { L: value.L.map(plainValue) };
  if (value.B !== undefined) return { B: Buffer.from(value.B).toString('hex') };
  if (value.N !== undefined) return { N: canonicalNumber(value.N) };
  const members = membersOf(value);
  return members.length === 0 ? value : { set: members.map((each) => JSON.stringify(each)).sort() };
}
