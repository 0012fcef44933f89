import { isUnknownOutcome } from './errors.ts';
import { outcomeOf } from './outcome-of.ts';
import type { Written } from './requests.ts';
import type { ItemKey, Table } from './table.ts';

/**
 * What became of a write; where nothing was heard of it, the item is read in place of the answer, as if the
 * write had been refused after a try that may have been carried out. One read unit, or half of one, and
 * only then. Throws what the write threw where the look fails as well.
 */
export async function orLookedUp(
  table: Table,
  key: ItemKey,
  writing: Promise<Written>,
): Promise<Written> {
  const written = await outcomeOf(writing);
  if ('value' in written) return written.value;
  if (!isUnknownOutcome(written.error)) throw written.error;
  const looked = await outcomeOf(table.get(key, { consistent: true }));
  if ('error' in looked) throw written.error;
  return { done: false, old: looked.value, isRepeated: true };
}
