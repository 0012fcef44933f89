import type {
  BatchGetItemCommandInput,
  BatchWriteItemCommandInput,
  TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import type { Item } from '../attribute-values.ts';
import { entryOf } from '../writes.ts';
import { withFewSlots } from './slots.ts';
import { type AttributeTypes, mergedAttributes, typesOf, typesOfItem } from './value-types.ts';

/** Where a shape was sent: as a request, or as a part of one. */
export type SentIn = 'alone' | 'transaction' | 'batch';

/** What requests of one kind have in common: all but keys, values and counts. */
export interface Shape {
  readonly sentIn: SentIn;
  /** The SDK's command; for a part of a request its operation, for instance `Put`. */
  readonly kind: string;
  /** The expressions and options. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The types of the values in the expressions. */
  readonly values?: AttributeTypes;
  /** The types of the attributes of an item that is put. */
  readonly item?: AttributeTypes;
}

/** Fields whose value is dropped; the shape keeps only that they exist. */
const VARIABLE = new Set(['Limit', 'ExclusiveStartKey']);
const DROPPED = new Set(['TableName', 'Key', 'Item', 'ExpressionAttributeValues', 'Keys']);

/** The shapes of a marshalled request. */
export function shapesOf(command: string, input: object): readonly Shape[] {
  switch (command) {
    case 'TransactWriteItemsCommand':
      return ((input as TransactWriteItemsCommandInput).TransactItems ?? []).map((entry) => {
        const [kind, write] = entryOf(entry);
        return shapeOf('transaction', kind, write);
      });
    case 'BatchGetItemCommand':
      return Object.values((input as BatchGetItemCommandInput).RequestItems ?? {}).map((request) =>
        shapeOf('batch', 'Get', request),
      );
    case 'BatchWriteItemCommand':
      return Object.values((input as BatchWriteItemCommandInput).RequestItems ?? {})
        .flat()
        .map(({ PutRequest }) => shapeOf('batch', PutRequest ? 'Put' : 'Delete', PutRequest ?? {}));
    default:
      return [shapeOf('alone', command, input)];
  }
}

function shapeOf(sentIn: SentIn, kind: string, request: object): Shape {
  const { Item, ExpressionAttributeValues: values } = request as {
    readonly Item?: Item;
    readonly ExpressionAttributeValues?: Item;
  };
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request)) {
    if (DROPPED.has(name) || value === undefined) continue;
    fields[name] = VARIABLE.has(name) ? true : withOneConsumer(value);
  }
  return withFewSlots({
    sentIn,
    kind,
    fields,
    ...(values !== undefined && {
      values: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, typesOf(value)]),
      ),
    }),
    ...(Item !== undefined && { item: typesOfItem(Item) }),
  });
}

/** The names of attributes in an expression, with one name for all consumers and one for all of their owners. */
function withOneConsumer(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const named = Object.entries(value).map(([name, of]) => [
    name,
    typeof of === 'string' && CONSUMER_KEY.test(of) ? 'main/c' : name === OWNER ? 'owner' : of,
  ]);
  return Object.fromEntries(named);
}

/** Stands for the name of the owner of a consumer's lease. */
const OWNER = '#owner';
const CONSUMER_KEY = /^(?:main|deadLetter|transferDeadLetter)\//;

/** Each kind of request once, with all types it had, in a fixed order. */
export function mergedShapes(shapes: readonly Shape[]): readonly Shape[] {
  const merged = new Map<string, Shape>();
  for (const shape of shapes) {
    const { sentIn, kind, fields } = shape;
    const sorted = Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
    const key = JSON.stringify([sentIn, kind, sorted]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? { ...shape, fields: sorted } : joined(known, shape));
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, shape]) => shape);
}

function joined(a: Shape, b: Shape): Shape {
  return {
    ...a,
    ...(a.values && b.values && { values: mergedAttributes(a.values, b.values) }),
    ...(a.item && b.item && { item: mergedAttributes(a.item, b.item) }),
  };
}
