import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { ItemKey, Table } from '../dynamodb/table.ts';
import {
  blockSortKey,
  FIRST_BLOCK,
  LAST_BLOCK,
  logKey,
  logName,
  sessionPrefix,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { fromBlockItem } from './block-item.ts';
import { releasePayload } from './payloads.ts';

/** The key of a block in its log. */
export function keyOf(log: Log, block: Pick<Block, 'section' | 'sequence'>): ItemKey {
  return { pk: logKey(log), sk: sessionPrefix(log) + blockSortKey(block.section, block.sequence) };
}

/** The sort key of a block within its log. */
export function sortKeyOf({ section, sequence }: Pick<Block, 'section' | 'sequence'>): string {
  return blockSortKey(section, sequence);
}

/**
 * Wakes a waiting receive of this process for each message of a block that was stored, and drops hints that would hide
 * the block.
 */
export function announce(
  context: StoreContext,
  log: Log,
  { section, sequence, slots }: Pick<Block, 'section' | 'sequence' | 'slots'>,
): void {
  const sortKey = blockSortKey(section, sequence);
  context.scanHints.noteBlock(logName(log), sortKey);
  context.ownBlocks?.note(logName(log), sortKey);
  context.wake(logName(log), slots.size);
  if (log.isConsumed && log.sessions === undefined) context.consumers.available(log, true);
}

/** Wakes a waiting receive after a message in a log became available again, and drops hints that would hide it. */
export function announceReturn(context: StoreContext, log: Log): void {
  context.scanHints.noteReturn(logName(log));
  context.wake(logName(log), 1);
  if (log.isConsumed) context.consumers.available(log, false);
}

/** The same after messages were abandoned, some perhaps with a delay. */
export function announceAbandoned(
  context: StoreContext,
  log: Log,
  actions: readonly { readonly kind: string; readonly delayMs?: number }[],
): void {
  announceReturn(context, log);
  if (!log.isConsumed) return;
  const now = context.clock.now();
  for (const { kind, delayMs = 0 } of actions) {
    if (kind === 'abandon' && delayMs > 0) context.consumers.availableAt(log, now + delayMs);
  }
}

/** Deletes an empty block, and then its payload. */
export async function deleteEmptyBlock(
  context: StoreContext,
  log: Log,
  block: Block,
): Promise<void> {
  const deleted = await deleteIfEmpty(context.table, keyOf(log, block));
  if (deleted) context.background(() => releasePayload(context.table, log, block.payload));
}

/** Whether this call deleted the block; only then may it release the payload. */
async function deleteIfEmpty(table: Table, key: ItemKey): Promise<boolean> {
  const written = await table.delete(key, {
    ConditionExpression: 'size(#s) = :none',
    ExpressionAttributeNames: { '#s': 's' },
    ExpressionAttributeValues: { ':none': { N: '0' } },
  });
  return written.done;
}

/**
 * One page of a log's blocks in order, and the sort key at which to continue; `next` is absent at the end. Sort keys
 * are within the log, without the prefix of its session.
 */
export async function readBlocks(
  context: Pick<StoreContext, 'table'>,
  log: Log,
  page: { from: string; to?: string; limit: number; consistent: boolean },
): Promise<{ blocks: readonly Block[]; next: string | undefined }> {
  const prefix = sessionPrefix(log);
  const { items, next } = await context.table.range(logKey(log), {
    ...page,
    from: prefix + page.from,
    to: prefix + (page.to ?? LAST_BLOCK),
  });
  return { blocks: items.map(fromBlockItem), next: next?.slice(prefix.length) };
}

/** All blocks of a log in order, in pages of at most `limit`, consistently. A page is read when it is asked for. */
export async function* readPages(
  context: Pick<StoreContext, 'table'>,
  log: Log,
  limit: number,
): AsyncGenerator<readonly Block[]> {
  let from: string | undefined = FIRST_BLOCK;
  while (from !== undefined) {
    const page = await readBlocks(context, log, { from, limit, consistent: true });
    yield page.blocks;
    from = page.next;
  }
}
