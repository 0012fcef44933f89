import { copyItem, type Item } from './attribute-values.ts';
import { conditionFailed, notSimulated, throttled, transactionConflict } from './failures.ts';
import { asksForUnits, consumed } from './fields.ts';
import { nameOf } from './paths.ts';
import { writeUnits } from './sizes.ts';
import type { State } from './state.ts';
import {
  applyChange,
  type Change,
  evaluate,
  parseWrite,
  type Write,
  type WriteInput,
} from './writes.ts';

/** The request of a single write. */
export type SingleWriteInput = WriteInput & {
  readonly ReturnValues?: string | undefined;
  readonly ReturnConsumedCapacity?: string | undefined;
};

/**
 * Executes PutItem, UpdateItem or DeleteItem. Throws ConditionalCheckFailedException,
 * TransactionConflictException, ThrottlingException and ValidationException.
 */
export function writeSingle(
  state: State,
  kind: 'Put' | 'Update' | 'Delete',
  input: SingleWriteInput,
): object {
  const write = parseWrite(kind, input);
  const { table, key } = write;
  const returned = RETURNED[input.ReturnValues ?? 'NONE'];
  if (returned === undefined) throw notSimulated(`ReturnValues ${input.ReturnValues}`);
  const isAskedForUnits = asksForUnits(input);
  if (!state.throughput.hasLeft('write', table, key.pk)) throw throttled();
  if (state.isHeld(table, key.pk, key.sk)) throw transactionConflict();
  const change = evaluate(state, write);
  const units = writeUnits(change.bytes);
  state.throughput.take('write', table, key.pk, units);
  if (change.isRefused) {
    throw conditionFailed(
      write.showsOld && change.before !== undefined ? copyItem(change.before) : undefined,
    );
  }
  applyChange(state, write, change);
  const attributes = returned(change, write);
  return {
    ...(attributes !== undefined && { Attributes: attributes }),
    ...(isAskedForUnits && { ConsumedCapacity: consumed(table, units) }),
  };
}

/** The attributes in an answer, by the ReturnValues of the request. */
const RETURNED: Readonly<Record<string, (change: Change, write: Write) => Item | undefined>> = {
  NONE: () => undefined,
  ALL_OLD: ({ before }) => (before === undefined ? undefined : copyItem(before)),
  ALL_NEW: ({ after }) => (after === undefined ? undefined : copyItem(after)),
  UPDATED_NEW: ({ after = {} }, { actions, placeholders }) => {
    const shown: Item = {};
    for (const { path } of actions) {
      if (path.length > 1) throw notSimulated('UPDATED_NEW of what stands in a map');
      const name = nameOf(path[0] ?? '', placeholders.names);
      const value = after[name];
      if (value !== undefined) shown[name] = value;
    }
    return copyItem(shown);
  },
};
