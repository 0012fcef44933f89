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

/** A page of a query ends with the item that takes it so far. */
const PAGE_BYTES_MAX = 1024 * 1024;

const GET_FIELDS = new Set(['TableName', 'Key', 'ConsistentRead', 'ReturnConsumedCapacity']);

/** Carries out GetItem. Throws ThrottlingException and ValidationException. */
export function getItem(state: State, input: GetItemCommandInput): object {
  requireKnown(input, GET_FIELDS);
  const { TableName: table = '', ConsistentRead: isConsistent = false } = input;
  const { pk, sk } = soleKey(input.Key);
  const isAskedForUnits = asksForUnits(input);
  if (!state.throughput.hasLeft('read', table, pk)) throw throttled();
  const place = state.table(table).find(pk, sk);
  const version = place && versionAt(place, state.readInstant(isConsistent));
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

/** Carries out Query: one page. Throws ThrottlingException and ValidationException. */
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
  /** The order of the sort key behind which the page begins. */
  readonly after: string | undefined;
  readonly isForward: boolean;
  readonly limit: number;
  /** The instant that is shown, epoch ms. */
  readonly at: number;
}

interface Page {
  readonly items: readonly Item[];
  readonly bytes: number;
  /** Where the next page goes on; undefined = the range is read to its end. */
  readonly lastKey: Item | undefined;
}

function readPage(collection: Collection | undefined, request: PageRequest): Page {
  const items: Item[] = [];
  let bytes = 0;
  if (collection === undefined) return { items, bytes, lastKey: undefined };
  const { places } = collection;
  const { first, last, step } = indexes(collection, request);
  for (let i = first; i !== last; i += step) {
    const place = places[i];
    if (place === undefined) break;
    const version = versionAt(place, request.at);
    if (version?.item === undefined) continue;
    items.push(version.item);
    bytes += version.bytes;
    if (items.length >= request.limit || bytes >= PAGE_BYTES_MAX) {
      return { items, bytes, lastKey: keyItem(place) };
    }
  }
  return { items, bytes, lastKey: undefined };
}

/** The indexes of the places that a page goes over: from the first to the one before `last`. */
function indexes(
  collection: Collection,
  { range, after, isForward }: PageRequest,
): { readonly first: number; readonly last: number; readonly step: 1 | -1 } {
  const behind = (order: string) => {
    const index = collection.indexOf(order);
    return collection.places[index]?.order === order ? index + 1 : index;
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
