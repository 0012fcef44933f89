import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import type { Condition } from './conditions.ts';
import {
  conditionOf,
  type GivenPlaceholders,
  type Parsed,
  placeholdersOf,
  updateOf,
} from './expressions.ts';
import { notSimulated, validationFailed } from './failures.ts';
import { requireKnown } from './fields.ts';
import { type ItemKey, KEY_NAMES, keyIn, keyItem, soleKey } from './item-keys.ts';
import type { Placeholders } from './paths.ts';
import { ITEM_BYTES_MAX, itemBytes } from './sizes.ts';
import type { State } from './state.ts';
import { storableItem } from './storable-values.ts';
import { type Action, applyUpdate, requireDisjoint } from './updates.ts';

/** The kinds of writes of one item. */
export type WriteKind = 'Put' | 'Update' | 'Delete' | 'ConditionCheck';

/** One write in a request, alone or in a transaction. */
export type WriteInput = GivenPlaceholders & {
  readonly TableName: string | undefined;
  readonly Key?: Item | undefined;
  readonly Item?: Item | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: string | undefined;
};

/** A valid write, ready to be applied to what is stored. */
export interface Write {
  readonly kind: WriteKind;
  readonly table: string;
  readonly key: ItemKey;
  readonly put: Item | undefined;
  /** Bytes of the item that is put; 0 without one. */
  readonly putBytes: number;
  readonly condition: Condition | undefined;
  readonly actions: readonly Action[];
  readonly placeholders: Placeholders;
  /** Whether a refusal shows the existing item. */
  readonly showsOld: boolean;
}

/** The effect of a write on its item. */
export interface Change {
  /** Whether the condition does not hold. */
  readonly isRefused: boolean;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly afterBytes: number;
  /** The larger size of the item before and after, by which the write is charged. */
  readonly bytes: number;
}

const FIELDS = new Set([
  ...['TableName', 'Key', 'Item', 'ConditionExpression', 'UpdateExpression'],
  ...['ExpressionAttributeNames', 'ExpressionAttributeValues'],
  ...['ReturnValuesOnConditionCheckFailure', 'ReturnValues', 'ReturnConsumedCapacity'],
]);

/** Parses a write. Throws ValidationException. */
export function parseWrite(kind: WriteKind, input: WriteInput): Write {
  requireKnown(input, FIELDS);
  const { ConditionExpression: condition, UpdateExpression: update } = input;
  const [parsedCondition, parsedUpdate] = parsedExpressions(condition, update);
  const put = kind === 'Put' ? storableItem(input.Item ?? {}) : undefined;
  const putBytes = put === undefined ? 0 : storedBytes(put);
  const placeholders = placeholdersOf(input, [parsedCondition, parsedUpdate]);
  const actions = parsedUpdate?.meaning ?? [];
  requireDisjoint(actions, placeholders.names, KEY_NAMES);
  return {
    kind,
    table: input.TableName ?? '',
    key: put === undefined ? soleKey(input.Key) : keyIn(put),
    put,
    putBytes,
    condition: parsedCondition?.meaning,
    actions,
    placeholders,
    showsOld: showsOld(input),
  };
}

function parsedExpressions(
  condition: string | undefined,
  update: string | undefined,
): readonly [Parsed<Condition> | undefined, Parsed<readonly Action[]> | undefined] {
  if (condition === '' || update === '') {
    throw validationFailed('Invalid expression: The expression can not be empty');
  }
  return [
    condition === undefined ? undefined : conditionOf(condition),
    update === undefined ? undefined : updateOf(update),
  ];
}

function showsOld({ ReturnValuesOnConditionCheckFailure: asked = 'NONE' }: WriteInput): boolean {
  if (asked !== 'ALL_OLD' && asked !== 'NONE') {
    throw notSimulated(`ReturnValuesOnConditionCheckFailure ${asked}`);
  }
  return asked === 'ALL_OLD';
}

/** The kind of an entry of a transaction, and its content. */
export function entryOf(entry: TransactWriteItem): readonly [WriteKind, WriteInput] {
  const { Put, Update, Delete, ConditionCheck } = entry;
  if (Put !== undefined) return ['Put', Put];
  if (Update !== undefined) return ['Update', Update];
  if (Delete !== undefined) return ['Delete', Delete];
  if (ConditionCheck !== undefined) return ['ConditionCheck', ConditionCheck];
  throw validationFailed('TransactItems can only contain one of Check, Put, Update or Delete');
}

/** The effect that a write has now. Throws ValidationException if it does not fit the item. */
export function evaluate(state: State, write: Write): Change {
  const { kind, table, key, put, putBytes, condition, actions, placeholders } = write;
  const version = state.table(table).find(key.pk, key.sk)?.current;
  const before = version?.item;
  const beforeBytes = version?.bytes ?? 0;
  const isRefused = condition !== undefined && !condition(before, placeholders);
  if (isRefused || kind === 'ConditionCheck') {
    const bytes = Math.max(beforeBytes, putBytes);
    return { isRefused, before, after: before, afterBytes: beforeBytes, bytes };
  }
  if (kind !== 'Update') {
    const bytes = Math.max(beforeBytes, putBytes);
    return { isRefused, before, after: put, afterBytes: putBytes, bytes };
  }
  const after = applyUpdate(before ?? keyItem(key), actions, placeholders);
  const afterBytes = storedBytes(after);
  const bytes = Math.max(beforeBytes, afterBytes);
  return { isRefused, before, after, afterBytes, bytes };
}

/** Bytes of an item. Throws ValidationException if it is too large to be stored. */
function storedBytes(item: Item): number {
  const bytes = itemBytes(item);
  if (bytes <= ITEM_BYTES_MAX) return bytes;
  throw validationFailed('Item size has exceeded the maximum allowed size');
}

/** Stores the effect of a write. */
export function applyChange(state: State, { table, key, kind }: Write, change: Change): void {
  if (kind === 'ConditionCheck') return;
  const { after, afterBytes } = change;
  state.table(table).write(key.pk, key.sk, after, afterBytes, state.now());
}
