import { isUnknownOutcome } from '../../domain/broker-error.ts';
import { resultOf } from '../../domain/result-of.ts';
import type { Written } from './requests.ts';
import type { ItemKey, Table } from './table.ts';

/**
 * The outcome of a write. If it is unknown, reads the item and reports a refusal after a try that may have taken
 * effect; that costs one read unit. Throws the write's error if the read fails too.
 */
export async function orLookedUp(
  table: Table,
  key: ItemKey,
  writing: Promise<Written>,
): Promise<Written> {
  const written = await resultOf(writing);
  if ('value' in written) return written.value;
  if (!isUnknownOutcome(written.error)) throw written.error;
  const looked = await resultOf(table.get(key, { consistent: true }));
  if ('error' in looked) throw written.error;
  return { done: false, old: looked.value, isUncertain: true };
}
