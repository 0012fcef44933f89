import type { Put, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Item, Table } from './dynamo.ts';

/** Decides whether messages may be stored: a write that is part of their transaction. */
export interface Guard {
  /** `first` is the number of the first message; absent where the sender is not to know it. */
  put(first: bigint | undefined): Put;
  /** Whether what stands in the way of this write is the write itself, whose answer was lost. */
  isOwn(old: Item | undefined): boolean;
}

/** Nothing was stored: what is a duplicate has to be decided anew. */
export class GuardRefused extends Error {}

/**
 * Writes in one transaction, under a guard if there is one. False = some other condition did not hold.
 * Throws GuardRefused.
 */
export async function transactUnder(
  table: Table,
  guard: Guard | undefined,
  first: bigint | undefined,
  writes: readonly TransactWriteItem[],
): Promise<boolean> {
  if (guard === undefined) return (await table.transact(writes)).done;
  const outcome = await table.transact([{ Put: guard.put(first) }, ...writes]);
  if (outcome.done) return true;
  if (!outcome.refused.has(0)) return false;
  if (guard.isOwn(outcome.refused.get(0))) return true;
  throw new GuardRefused('Somebody else has decided about the same messages.');
}
