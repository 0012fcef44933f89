import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { isUnknownOutcome } from './errors.ts';
import { outcomeOf } from './outcome-of.ts';
import {
  type Item,
  type ItemKey,
  type Table,
  TRANSACTION_ITEMS_MAX,
  type Transacted,
  type Written,
} from './table.ts';

/**
 * Writes that go in together, all or none. Several plans can be carried out as one transaction; no two
 * of them may concern the same item.
 */
export interface Plan {
  readonly items: readonly TransactWriteItem[];
  /**
   * Tells receivers what comes with the writes. Also where nothing was heard of them: what they brought
   * must not stay behind what is remembered of a front.
   */
  readonly announce: () => void;
  /** What follows once the writes are in. */
  readonly done: () => void;
  /** What is to be cleared away once it is certain that they never will be. */
  readonly refused: () => void;
}

/** Carries out a plan, alone. */
export async function carryOut(table: Table, plan: Plan): Promise<Transacted> {
  const outcome = await writePlanned(table, [plan], plan.items);
  if (outcome.done) plan.done();
  else if (!outcome.isRepeated) plan.refused();
  return outcome;
}

/** Writes what plans are about, all or none, and announces it unless it certainly was refused. */
export async function writePlanned(
  table: Table,
  plans: readonly Plan[],
  items: readonly TransactWriteItem[],
): Promise<Transacted> {
  let isRefused = false;
  try {
    const outcome = await writeTogether(table, items);
    isRefused = !outcome.done && !outcome.isRepeated;
    return outcome;
  } finally {
    for (const plan of isRefused ? [] : plans) plan.announce();
  }
}

/**
 * Writes items, all or none. A single one needs no transaction, which costs twice as much. Where nothing was
 * heard of the write, new blocks are looked up: one that is there proves that all was written. Where none
 * is there, it may have come and gone, or may still come: throws ServiceTimeout.
 */
export async function writeTogether(
  table: Table,
  items: readonly TransactWriteItem[],
): Promise<Transacted> {
  const [only] = items;
  if (only === undefined) return { done: true };
  try {
    return items.length === 1 ? await writeAlone(table, only) : await table.transact(items);
  } catch (error) {
    if (isUnknownOutcome(error) && (await isAnyThere(table, newBlocks(items)))) {
      return { done: true };
    }
    throw error;
  }
}

/** The keys of new blocks: nothing else is ever written under such a key. */
function newBlocks(items: readonly TransactWriteItem[]): readonly ItemKey[] {
  return items.flatMap(({ Put }) => (Put?.Item?.['s'] === undefined ? [] : [keyOfItem(Put.Item)]));
}

async function isAnyThere(table: Table, keys: readonly ItemKey[]): Promise<boolean> {
  if (keys.length === 0) return false;
  const outcome = await outcomeOf(table.getMany(keys, { consistent: true }));
  return 'value' in outcome && outcome.value.length > 0;
}

async function writeAlone(table: Table, item: TransactWriteItem): Promise<Transacted> {
  const { Put, Update, Delete } = item;
  if (Put !== undefined) {
    const { TableName: _, Item: put, ...condition } = Put;
    if (condition.ConditionExpression !== undefined) {
      return transacted(await table.put(put ?? {}, condition));
    }
    await putNew(table, put ?? {});
    return { done: true };
  }
  if (Update !== undefined) {
    const { TableName: _, Key, ...update } = Update;
    return transacted(await table.update(keyOfItem(Key), update));
  }
  const { TableName: _, Key, ...condition } = Delete ?? {};
  return transacted(await table.delete(keyOfItem(Key), condition));
}

function keyOfItem(key: Item | undefined): ItemKey {
  return { pk: key?.['pk']?.S ?? '', sk: key?.['sk']?.S ?? '' };
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

/** Items that are new, as parts of a transaction. */
export function putsOf(table: Table, items: readonly Item[]): TransactWriteItem[] {
  return items.map((Item) => ({ Put: { TableName: table.name, Item } }));
}

/** Whether so many writes can be one transaction. */
export function fitsTransaction(items: number): boolean {
  return items <= TRANSACTION_ITEMS_MAX;
}
