import { isUnknownOutcome } from '../../domain/broker-error.ts';
import { resultOf } from '../../domain/result-of.ts';
import type { Transacted, Written } from './requests.ts';
import { type Item, keyOfItem, type Table, type Write } from './table.ts';

/**
 * Writes that belong together, and the work after them. `run` runs several of them as one transaction; no two may write
 * the same item.
 */
export interface PreparedWrite {
  readonly writes: readonly Write[];
  /**
   * Wakes receivers and corrects scan hints. Called unless the writes certainly were refused: if their outcome is
   * unknown, no hint may skip what they may have stored.
   */
  readonly announce?: () => void | Promise<void>;
  /** Called once the writes took effect. */
  readonly onDone?: () => void;
  /** Deletes what was stored for the writes, once they certainly never take effect. */
  readonly onRefused?: () => void;
}

/** The outcome of prepared writes, which take effect all or none. */
export type Outcome =
  | { readonly done: true }
  | {
      readonly done: false;
      /** The prepared writes with a failed condition, each with the item as it is. */
      readonly refused: ReadonlyMap<PreparedWrite, Item | undefined>;
      /** An earlier try may have taken effect, its answer lost. */
      readonly isUncertain: boolean;
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
    isRefused = !outcome.done && !outcome.isUncertain;
  } finally {
    for (const one of isRefused ? [] : prepared) await one.announce?.();
  }
  if (outcome.done) {
    for (const one of prepared) one.onDone?.();
    return outcome;
  }
  if (isRefused) for (const one of prepared) one.onRefused?.();
  const owners = prepared.flatMap((one) => one.writes.map(() => one));
  const refused = new Map<PreparedWrite, Item | undefined>();
  for (const [position, item] of outcome.refused) {
    const owner = owners[position];
    if (owner !== undefined) refused.set(owner, item);
  }
  return { done: false, refused, isUncertain: outcome.isUncertain };
}

/**
 * Writes items, all or none. A single item is written without a transaction, which would cost twice as much. After an
 * unknown outcome it reads the new blocks: one that exists proves that everything was written. If none exists, it may
 * have been received already, or may still be written: throws ServiceTimeout (semantics M21).
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

/**
 * The attribute with a random name of the write that made a block. A block has it if other writes may make one with the
 * same key.
 */
export const MADE_BY = 'm';

/** The new blocks. */
function newBlocks(writes: readonly Write[]): readonly Item[] {
  return writes.flatMap((write) =>
    'put' in write && write.put['s'] !== undefined ? [write.put] : [],
  );
}

/** Whether any of these blocks exists, and not one of another write in its place. */
async function isAnyThere(table: Table, blocks: readonly Item[]): Promise<boolean> {
  if (blocks.length === 0) return false;
  const outcome = await resultOf(table.getMany(blocks.map(keyOfItem), { consistent: true }));
  if (!('value' in outcome)) return false;
  const own = new Set(blocks.map(identityOf));
  return outcome.value.some((item) => own.has(identityOf(item)));
}

/** The key of a block, and the name of the write that made it. */
function identityOf(item: Item): string {
  return [item['pk']?.S, item['sk']?.S, item[MADE_BY]?.S].join(' ');
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
  const { old, isUncertain } = written;
  return { done: false, refused: new Map([[0, old]]), isUncertain };
}

/**
 * Writes an item under a key that nothing else uses. It is not repeated after a lost answer, since a repeated write
 * could restore a block whose messages were completed meanwhile.
 */
export async function putNew(table: Table, item: Item): Promise<void> {
  await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' }, { once: true });
}

/** Items under keys that nothing else uses. */
export function newItems(items: readonly Item[]): readonly Write[] {
  return items.map((put) => ({ put }));
}

/** Whether this number of writes fits into one transaction. */
export function fitsTransaction({ transactionItems }: Table, writes: number): boolean {
  return writes <= transactionItems;
}
