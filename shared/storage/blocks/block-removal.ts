import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Write } from '../dynamodb/table.ts';
import { asSeen, blockDelete, blockUpdate, ifSameProperties } from './block-writes.ts';
import { keyOf } from './read-blocks.ts';

/**
 * The write in a transaction that removes messages from a block, each on the condition that its slot and its
 * properties are unchanged. Removing the last message deletes the block.
 */
export function removalOf(log: Log, block: Block, slots: readonly number[]): Write {
  const key = keyOf(log, block);
  const removals = slots.map((slot) => asSeen(block, slot));
  if (slots.length === block.slots.size) {
    const deletion = ifSameProperties(blockDelete(removals), block);
    return { delete: key, ...deletion, ...RETURN_BLOCK };
  }
  const changes = removals.map((removal) => ({ ...removal, effect: { kind: 'remove' } as const }));
  return { update: key, ...ifSameProperties(blockUpdate(changes), block), ...RETURN_BLOCK };
}

/** A part of a transaction that changes a block returns the block if its condition fails. */
export const RETURN_BLOCK = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
