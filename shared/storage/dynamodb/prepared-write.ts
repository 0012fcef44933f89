import { isUnknownOutcome } from './errors.ts';
import { outcomeOf } from './outcome-of.ts';
import type { Transacted, Written } from './requests.ts';
import { type Item, type ItemKey, keyOfItem, type Table, type Write } from './table.ts';

/**
 * Writes that belong together, with what follows from them. Several can be run as one transaction; no two of
 * them may concern the same item.
 */
export interface PreparedWrite {
  readonly writes: readonly Write[];
  /**
   * Wakes receivers and corrects scan hints. Called unless the writes certainly were refused: where their outcome
   * is unknown, what they stored must not lie before the position from which receivers scan.
   */
  readonly announce?: () => void | Promise<void>;
  /** What follows once the writes took effect. */
  readonly done?: () => void;
  /** Deletes what was stored for the writes, once they certainly never take effect. */
  readonly refused?: () => void;
}

/** Prepared writes took effect, all of them, or none did. */
export type Outcome =
  | { readonly done: true }
  | {
      readonly done: false;
      /** Those with a condition that failed, and the item that it failed for. */
      readonly refused: ReadonlyMap<PreparedWrite, Item | undefined>;
      /** An earlier try may have taken effect, its answer lost. */
      readonly isRepeated: boolean;
    };

/** Runs prepared writes as one request, all or none; announces what they store, and cleans up. */
export async function run(table: Table, prepared: readonly PreparedWrite[]): Promise<Outcome> {
  let isRefused = false;
  let outcome: Transacted;
  try {
    outcome = await writeTogether(
      table,
      prepared.flatMap(({ writes }) => writes),
    );
    isRefused = !outcome.done && !outcome.isRepeated;
  } finally {
    for (const one of isRefused ? [] : prepared) await one.announce?.();
  }
  if (outcome.done) {
    for (const one of prepared) one.done?.();
    return outcome;
  }
  if (isRefused) for (const one of prepared) one.refused?.();
  const owners = prepared.flatMap((one) => one.writes.map(() => one));
  const refused = new Map<PreparedWrite, Item | undefined>();
  for (const [position, item] of outcome.refused) {
    const owner = owners[position];
    if (owner !== undefined) refused.set(owner, item);
  }
  return { done: false, refused, isRepeated: outcome.isRepeated };
}

/**
 * Writes items, all or none. A single one needs no transaction, which costs twice as much. Where nothing was
 * heard of the write, new blocks are looked up: one that is there proves that all was written. Where none
 * is there, it may have come and gone, or may still come: throws ServiceTimeout.
 */
async function writeTogether(table: Table, writes: readonly Write[]): Promise<Transacted> {
  const [only] = writes;
  if (only === undefined) return { done: true };
  try {
    return writes.length === 1 ? await writeAlone(table, only) : await table.transact(writes);
  } catch (error) {
    if (isUnknownOutcome(error) && (await isAnyThere(table, newBlocks(writes)))) {
      return { done: true };
    }
    throw error;
  }
}

/** The keys of new blocks: nothing else is ever written under such a key. */
function newBlocks(writes: readonly Write[]): readonly ItemKey[] {
  return writes.flatMap((write) =>
    'put' in write && write.put['s'] !== undefined ? [keyOfItem(write.put)] : [],
  );
}

async function isAnyThere(table: Table, keys: readonly ItemKey[]): Promise<boolean> {
  if (keys.length === 0) return false;
  const outcome = await outcomeOf(table.getMany(keys, { consistent: true }));
  return 'value' in outcome && outcome.value.length > 0;
}

async function writeAlone(table: Table, write: Write): Promise<Transacted> {
  if ('put' in write) {
    const { put, ...condition } = write;
    if (condition.ConditionExpression !== undefined) {
      return transacted(await table.put(put, condition));
    }
    await putNew(table, put);
    return { done: true };
  }
  if ('update' in write) {
    const { update: key, ...change } = write;
    return transacted(await table.update(key, change));
  }
  if ('delete' in write) {
    const { delete: key, ...condition } = write;
    return transacted(await table.delete(key, condition));
  }
  return await table.transact([write]);
}

function transacted(written: Written): Transacted {
  if (written.done) return { done: true };
  return { done: false, refused: new Map([[0, written.old]]), isRepeated: written.isRepeated };
}

/**
 * Writes an item under a key that nothing else uses. It is sent once: repeated after a lost answer, it would
 * bring back what receivers have completed, and thereby deleted, since.
 */
export async function putNew(table: Table, item: Item): Promise<void> {
  await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' }, { once: true });
}

/** Items under keys that nothing else uses. */
export function newItems(items: readonly Item[]): readonly Write[] {
  return items.map((put) => ({ put }));
}

/** Whether so many writes can be one transaction. */
export function fitsTransaction({ transactionItems }: Table, writes: number): boolean {
  return writes <= transactionItems;
}
