import type { Block } from '../../domain/blocks/block.ts';
import { type BlockSection, SLOTS_MAX } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { blockSortKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** A message that was found by its number. */
export interface Found {
  readonly block: Block;
  readonly slot: number;
}

/**
 * Finds a message by sequence number in one section of a log; undefined if there is none. A block's key has only
 * its first number, so one query also reads the blocks just before.
 */
export async function findByNumber(
  context: Pick<StoreContext, 'table'>,
  log: Log,
  section: Exclude<BlockSection, 'returned'>,
  sequence: bigint,
): Promise<Found | undefined> {
  const span = BigInt(SLOTS_MAX);
  const { blocks } = await readBlocks(context, log, {
    from: blockSortKey(section, sequence > span ? sequence - span : 0n),
    // The sort key of a message that was put back is slightly higher.
    to: `${blockSortKey(section, sequence)}~`,
    limit: 2 * SLOTS_MAX,
    consistent: true,
  });
  for (const block of blocks) {
    const slot = Number(sequence - block.sequence);
    if (block.slots.has(slot)) return { block, slot };
  }
  return undefined;
}
