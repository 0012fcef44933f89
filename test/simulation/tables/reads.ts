import type { GetItemCommandInput, QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { copyItem, type Item } from './attribute-values.ts';
import { type Collection, versionAt } from './collection.ts';
import { keyConditionOf, placeholdersOf, projectionOf } from './expressions.ts';
import { throttled, validationFailed } from './failures.ts';
import { asksForUnits, consumed, requireKnown } from './fields.ts';
import { keyItem, soleKey } from './item-keys.ts';
import type { KeyRange } from './key-conditions.ts';
import { readUnits } from './sizes.ts';
import type { State } from './state.ts';
import { textOrder } from './text-order.ts';

/** A page of a query ends with the item that reaches this size. */
const PAGE_BYTES_MAX = 1024 * 1024;

const GET_FIELDS = new Set(['TableName', 'Key', 'ConsistentRead', 'ReturnConsumedCapacity']);

/** Executes GetItem. Throws ThrottlingException and ValidationException. */
export function getItem(state: State, input: GetItemCommandInput): object {
  requireKnown(input, GET_FIELDS);
  const { TableName: table = '', ConsistentRead: isConsistent = false } = input;
  const { pk, sk } = soleKey(input.Key);
  const isAskedForUnits = asksForUnits(input);
  if (!state.throughput.hasLeft('read', table, pk)) throw throttled();
  const history = state.table(table).find(pk, sk);
  const version = history && versionAt(history, state.readInstant(isConsistent));
  const units = readUnits(version?.bytes ?? 0, isConsistent);
  state.throughput.take('read', table, pk, units);
  return {
    ...(version?.item !== undefined && { Item: copyItem(version.item) }),
    ...(isAskedForUnits && { ConsumedCapacity: consumed(table, units) }),
  };
}

const QUERY_FIELDS = new Set([
  ...['TableName', 'KeyConditionExpression', 'ProjectionExpression', 'ExclusiveStartKey'],
  ...['ExpressionAttributeNames', 'ExpressionAttributeValues', 'ScanIndexForward'],
  ...['Limit', 'ConsistentRead', 'ReturnConsumedCapacity'],
]);

/** Executes Query: one page. Throws ThrottlingException and ValidationException. */
export function query(state: State, input: QueryCommandInput): object {
  requireKnown(input, QUERY_FIELDS);
  const { TableName: table = '', Limit: limit, ConsistentRead: isConsistent = false } = input;
  const condition = keyConditionOf(input.KeyConditionExpression ?? '');
  const { ProjectionExpression: shown } = input;
  const projection = shown === undefined ? undefined : projectionOf(shown);
  const { names, values } = placeholdersOf(input, [condition, projection]);
  const range = condition.meaning(values);
  const after = startOf(input, range);
  const isAskedForUnits = asksForUnits(input);
  if (limit !== undefined && limit < 1) throw validationFailed('Limit must be at least 1');
  if (!state.throughput.hasLeft('read', table, range.pk)) throw throttled();
  const page = readPage(state.table(table).collections.get(range.pk), {
    range,
    after,
    isForward: input.ScanIndexForward !== false,
    limit: limit ?? Number.POSITIVE_INFINITY,
    at: state.readInstant(isConsistent),
  });
  const units = readUnits(page.bytes, isConsistent);
  state.throughput.take('read', table, range.pk, units);
  const show = projection?.meaning ?? copyItem;
  return {
    Items: page.items.map((item) => show(item, names)),
    Count: page.items.length,
    ScannedCount: page.items.length,
    ...(page.lastKey !== undefined && { LastEvaluatedKey: page.lastKey }),
    ...(isAskedForUnits && { ConsumedCapacity: consumed(table, units) }),
  };
}

function startOf(input: QueryCommandInput, { pk, from, to }: KeyRange): string | undefined {
  const { ExclusiveStartKey: start } = input;
  if (start === undefined) return undefined;
  const key = soleKey(start);
  const order = textOrder(key.sk);
  if (key.pk === pk && order >= from && order <= to) return order;
  throw validationFailed('The provided starting key is outside query boundaries');
}

interface PageRequest {
  readonly range: KeyRange;
  /** The sort key after which the page begins, in the order of `textOrder`. */
  readonly after: string | undefined;
  readonly isForward: boolean;
  readonly limit: number;
  /** The page shows the collection as of this instant, epoch ms. */
  readonly at: number;
}

interface Page {
  readonly items: readonly Item[];
  readonly bytes: number;
  /** The last key, if the page ended before the range did. */
  readonly lastKey: Item | undefined;
}

function readPage(collection: Collection | undefined, request: PageRequest): Page {
  const items: Item[] = [];
  let bytes = 0;
  if (collection === undefined) return { items, bytes, lastKey: undefined };
  const { histories } = collection;
  const { first, last, step } = indexes(collection, request);
  for (let i = first; i !== last; i += step) {
    const history = histories[i];
    if (history === undefined) break;
    const version = versionAt(history, request.at);
    if (version?.item === undefined) continue;
    items.push(version.item);
    bytes += version.bytes;
    if (items.length >= request.limit || bytes >= PAGE_BYTES_MAX) {
      return { items, bytes, lastKey: keyItem(history) };
    }
  }
  return { items, bytes, lastKey: undefined };
}

/** The indexes of a page: from `first` to the one before `last`. */
function indexes(
  collection: Collection,
  { range, after, isForward }: PageRequest,
): { readonly first: number; readonly last: number; readonly step: 1 | -1 } {
  const behind = (order: string) => {
    const index = collection.indexOf(order);
    return collection.histories[index]?.order === order ? index + 1 : index;
  };
  let low = collection.indexOf(range.from);
  let high = behind(range.to);
  if (after !== undefined && isForward) low = Math.max(low, behind(after));
  if (after !== undefined && !isForward) high = Math.min(high, collection.indexOf(after));
  if (low >= high) return { first: 0, last: 0, step: 1 };
  return isForward
    ? { first: low, last: high, step: 1 }
    : { first: high - 1, last: low - 1, step: -1 };
}
