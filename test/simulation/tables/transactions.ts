import type { CancellationReason, TransactWriteItemsCommandInput } from '@aws-sdk/client-dynamodb';
import { copyItem } from './attribute-values.ts';
import { THROTTLED, transactionCanceled, validationFailed } from './failures.ts';
import { asksForUnits, consumed, requireKnown } from './fields.ts';
import { fingerprint } from './fingerprint.ts';
import { readUnits, writeUnits } from './sizes.ts';
import type { State } from './state.ts';
import type { TransactionTokens } from './transaction-tokens.ts';
import { applyChange, type Change, entryOf, evaluate, parseWrite, type Write } from './writes.ts';

const ITEMS_MAX = 100;
/** The largest total size of all items, each counted by its larger size before and after. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The factor of the price: the service writes every item twice, to prepare and to commit. */
const PRICE = 2;

const FIELDS = new Set(['TransactItems', 'ClientRequestToken', 'ReturnConsumedCapacity']);

/** A transaction whose conditions hold and whose items no other write can change. */
export interface PreparedTransaction {
  readonly writes: readonly Write[];
  /** The effect of each write; undefined = the transaction was applied before. */
  readonly changes: readonly Change[] | undefined;
  readonly token: string | undefined;
  readonly isAskedForUnits: boolean;
}

/**
 * Checks the conditions of a transaction and holds its items. Throws TransactionCanceledException,
 * TransactionInProgressException, IdempotentParameterMismatchException and ValidationException.
 */
export function prepare(
  state: State,
  tokens: TransactionTokens,
  input: TransactWriteItemsCommandInput,
): PreparedTransaction {
  requireKnown(input, FIELDS);
  const { ClientRequestToken: token } = input;
  const isAskedForUnits = asksForUnits(input);
  const writes = (input.TransactItems ?? []).map((entry) => parseWrite(...entryOf(entry)));
  requireValid(writes);
  const tokenHash = token === undefined ? 0 : fingerprint(input.TransactItems);
  if (token !== undefined && tokens.isDone(token, tokenHash, state.now())) {
    return { writes, changes: undefined, token, isAskedForUnits };
  }
  const prepared = { writes, changes: changesOf(state, writes), token, isAskedForUnits };
  for (const { table, key } of writes) state.hold(table, key.pk, key.sk, prepared);
  if (token !== undefined) tokens.begin(token, tokenHash);
  return prepared;
}

/** Writes the prepared changes of a transaction and releases its items. */
export function commit(
  state: State,
  tokens: TransactionTokens,
  prepared: PreparedTransaction,
): object {
  const { writes, changes, token, isAskedForUnits } = prepared;
  const units = new Map<string, number>();
  for (const [i, write] of writes.entries()) {
    const { table, key } = write;
    const change = changes?.[i];
    const cost =
      change === undefined ? repeatUnits(state, write) : PRICE * writeUnits(change.bytes);
    units.set(table, (units.get(table) ?? 0) + cost);
    if (change === undefined) continue;
    applyChange(state, write, change);
    state.release(table, key.pk, key.sk, prepared);
  }
  if (token !== undefined && changes !== undefined) tokens.finish(token, state.now());
  if (!isAskedForUnits) return {};
  return { ConsumedCapacity: [...units].map((entry) => consumed(...entry)) };
}

/** The price of a repeated transaction that was applied before: its items are read. */
function repeatUnits(state: State, { table, key }: Write): number {
  const version = state.table(table).find(key.pk, key.sk)?.current;
  return PRICE * readUnits(version?.bytes ?? 0, true);
}

function requireValid(writes: readonly Write[]): void {
  if (writes.length === 0 || writes.length > ITEMS_MAX) {
    throw validationFailed(`A transaction must hold between 1 and ${ITEMS_MAX} items`);
  }
  const keys = new Set(writes.map(({ table, key }) => `${table}\n${key.pk}\n${key.sk}`));
  if (keys.size < writes.length) {
    throw validationFailed('Transaction request cannot include multiple operations on one item');
  }
  if (writes.some(({ kind, condition }) => kind === 'ConditionCheck' && condition === undefined)) {
    throw validationFailed('A condition check needs a condition');
  }
}

/** The effects of the writes. Throws TransactionCanceledException if one of them is refused. */
function changesOf(state: State, writes: readonly Write[]): readonly Change[] {
  const attempts = writes.map((write) => attempt(state, write));
  const reasons = attempts.map(({ reason }) => reason);
  if (reasons.some(({ Code }) => Code !== NONE.Code)) throw transactionCanceled(reasons);
  const changes = attempts.flatMap(({ change }) => (change === undefined ? [] : [change]));
  if (changes.reduce((sum, { bytes }) => sum + bytes, 0) > BYTES_MAX) {
    throw validationFailed('Collection size in bytes exceeds the limit of 4 MB of a transaction');
  }
  return changes;
}

interface Attempt {
  readonly reason: CancellationReason;
  readonly change?: Change;
}

const NONE = { Code: 'None' };

function attempt(state: State, write: Write): Attempt {
  const { table, key, showsOld } = write;
  if (!state.throughput.hasLeft('write', table, key.pk)) {
    return { reason: { Code: 'ThrottlingError', Message: THROTTLED } };
  }
  if (state.isHeld(table, key.pk, key.sk)) {
    return { reason: { Code: 'TransactionConflict', Message: CONFLICT } };
  }
  const outcome = evaluated(state, write);
  if ('reason' in outcome) return outcome;
  const { isRefused, before, bytes } = outcome;
  state.throughput.take('write', table, key.pk, PRICE * writeUnits(bytes));
  if (!isRefused) return { reason: NONE, change: outcome };
  const Item = showsOld && before !== undefined ? { Item: copyItem(before) } : {};
  return { reason: { Code: 'ConditionalCheckFailed', Message: REFUSED, ...Item } };
}

const CONFLICT = 'Transaction is ongoing for the item';
const REFUSED = 'The conditional request failed';

/** The effect of a write, or the reason why it does not fit the item. */
function evaluated(state: State, write: Write): Change | { readonly reason: CancellationReason } {
  try {
    return evaluate(state, write);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ValidationException') throw error;
    return { reason: { Code: 'ValidationError', Message: error.message } };
  }
}
