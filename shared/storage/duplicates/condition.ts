import type { Put, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { writeTogether } from '../dynamodb/prepared-write.ts';
import type { Table, Transacted } from '../dynamodb/table.ts';

/**
 * Decides whether messages may be stored: a write that is part of their transaction. `first` is the
 * number of the first message; absent where the sender is not to know it.
 */
export type Guard = (first: bigint | undefined) => Put;

/**
 * What is a duplicate has to be decided anew. Nothing was stored, unless by an earlier try of the same
 * transaction, whose answer was lost: then that one is found, and nothing that was written for it may
 * be deleted.
 */
export class GuardRefused extends Error {
  /** Whose refusal it is; absent = of whoever is at it. */
  readonly guard: Guard | undefined;

  constructor(guard?: Guard) {
    super('Somebody else has decided about the same messages.');
    this.guard = guard;
  }
}

/** Writes in one transaction, under a guard if there is one. Throws GuardRefused. */
export async function transactUnder(
  table: Table,
  guard: Guard | undefined,
  first: bigint | undefined,
  writes: readonly TransactWriteItem[],
): Promise<Transacted> {
  if (guard === undefined) return await writeTogether(table, writes);
  const outcome = await writeTogether(table, [{ Put: guard(first) }, ...writes]);
  if (!outcome.done && outcome.refused.has(0)) throw new GuardRefused(guard);
  return outcome;
}
