import type {
  BatchGetItemCommandInput,
  BatchWriteItemCommandInput,
  KeysAndAttributes,
  WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { copyItem, type Item } from './attribute-values.ts';
import { versionAt } from './collection.ts';
import { throttled, validationFailed } from './failures.ts';
import { asksForUnits, consumed, requireKnown } from './fields.ts';
import { soleKey } from './item-keys.ts';
import { readUnits, writeUnits } from './sizes.ts';
import type { State } from './state.ts';
import { applyChange, evaluate, parseWrite, type Write } from './writes.ts';

const GET_MAX = 100;
const WRITE_MAX = 25;
const MEGABYTE = 1024 * 1024;
/** The largest answer and the largest request, in bytes. */
const BATCH_BYTES_MAX = 16 * MEGABYTE;

const BATCH_FIELDS = new Set(['RequestItems', 'ReturnConsumedCapacity']);
const TABLE_FIELDS = new Set(['Keys', 'ConsistentRead']);

/** Executes BatchGetItem. Throws ThrottlingException and ValidationException. */
export function batchGet(state: State, input: BatchGetItemCommandInput): object {
  requireKnown(input, BATCH_FIELDS);
  const isAskedForUnits = asksForUnits(input);
  const wanted = Object.entries(input.RequestItems ?? {}).flatMap(([table, request]) => {
    requireKnown(request, TABLE_FIELDS);
    return (request.Keys ?? []).map((Key) => ({ table, request, Key, ...soleKey(Key) }));
  });
  requireBatch(wanted, GET_MAX);
  const isUnprocessed = chooseUnprocessed(state, wanted.length);
  const found: Record<string, Item[]> = {};
  const left: Record<string, KeysAndAttributes & { Keys: Item[] }> = {};
  const units = new Map<string, number>();
  let bytes = 0;
  for (const [i, { table, pk, sk, request, Key }] of wanted.entries()) {
    const isConsistent = request.ConsistentRead ?? false;
    found[table] ??= [];
    const place = state.table(table).find(pk, sk);
    const version = place && versionAt(place, state.readInstant(isConsistent));
    const isTooMuch = bytes + (version?.bytes ?? 0) > BATCH_BYTES_MAX;
    if (isTooMuch || isUnprocessed(i) || !state.throughput.hasLeft('read', table, pk)) {
      left[table] ??= { ...request, Keys: [] };
      left[table].Keys.push(Key);
      continue;
    }
    bytes += version?.bytes ?? 0;
    const cost = readUnits(version?.bytes ?? 0, isConsistent);
    state.throughput.take('read', table, pk, cost);
    units.set(table, (units.get(table) ?? 0) + cost);
    if (version?.item !== undefined) found[table].push(copyItem(version.item));
  }
  if (units.size === 0) throw throttled();
  return {
    Responses: found,
    UnprocessedKeys: left,
    ...(isAskedForUnits && { ConsumedCapacity: [...units].map((entry) => consumed(...entry)) }),
  };
}

/** Executes BatchWriteItem. Throws ThrottlingException and ValidationException. */
export function batchWrite(state: State, input: BatchWriteItemCommandInput): object {
  requireKnown(input, BATCH_FIELDS);
  const isAskedForUnits = asksForUnits(input);
  const wanted = Object.entries(input.RequestItems ?? {}).flatMap(([table, requests]) =>
    requests.map((request) => ({ table, request, write: writeOf(table, request) })),
  );
  requireBatch(
    wanted.map(({ table, write: { key } }) => ({ table, ...key })),
    WRITE_MAX,
  );
  requireBytes(wanted.map(({ write }) => write));
  const isUnprocessed = chooseUnprocessed(state, wanted.length);
  const left: Record<string, WriteRequest[]> = {};
  const units = new Map<string, number>();
  let isThrottled = false;
  for (const [i, { table, request, write }] of wanted.entries()) {
    const { pk, sk } = write.key;
    const hasUnits = state.throughput.hasLeft('write', table, pk);
    isThrottled ||= !hasUnits;
    if (isUnprocessed(i) || !hasUnits || state.isHeld(table, pk, sk)) {
      left[table] ??= [];
      left[table].push(request);
      continue;
    }
    const change = evaluate(state, write);
    const cost = writeUnits(change.bytes);
    state.throughput.take('write', table, pk, cost);
    units.set(table, (units.get(table) ?? 0) + cost);
    applyChange(state, write, change);
  }
  if (units.size === 0 && isThrottled) throw throttled();
  return {
    UnprocessedItems: left,
    ...(isAskedForUnits && { ConsumedCapacity: [...units].map((entry) => consumed(...entry)) }),
  };
}

function writeOf(TableName: string, { PutRequest, DeleteRequest }: WriteRequest): Write {
  if (PutRequest !== undefined) return parseWrite('Put', { TableName, Item: PutRequest.Item });
  return parseWrite('Delete', { TableName, Key: DeleteRequest?.Key });
}

function requireBatch(
  wanted: readonly { readonly table: string; readonly pk: string; readonly sk: string }[],
  max: number,
): void {
  if (wanted.length === 0 || wanted.length > max) {
    throw validationFailed(`A batch must hold between 1 and ${max} items`);
  }
  const keys = new Set(wanted.map(({ table, pk, sk }) => `${table}\n${pk}\n${sk}`));
  if (keys.size < wanted.length) {
    throw validationFailed('Provided list of item keys contains duplicates');
  }
}

function requireBytes(writes: readonly Write[]): void {
  const bytes = writes.reduce((sum, { putBytes }) => sum + putBytes, 0);
  if (bytes > BATCH_BYTES_MAX) {
    throw validationFailed('The batch exceeds the maximum size of a request of 16 MB');
  }
}

/** Chooses at random which items of a batch stay unprocessed, but never all. */
function chooseUnprocessed(state: State, count: number): (index: number) => boolean {
  const { random, unprocessedChance: chance } = state;
  if (chance === 0 || count < 2 || random() >= chance) return () => false;
  const processed = Math.floor(random() * count);
  const left = new Set<number>();
  for (let i = 0; i < count; i++) if (i !== processed && random() < 0.5) left.add(i);
  return (index) => left.has(index);
}
