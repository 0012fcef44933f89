import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Write } from '../dynamodb/table.ts';
import { asSeen, blockDelete, blockUpdate } from './block-writes.ts';
import { keyOf } from './read-blocks.ts';

/**
 * The write in a transaction that removes messages from a block, each on the condition that its slot is unchanged.
 * Removing the last message deletes the block.
 */
export function removalOf(log: Log, block: Block, slots: readonly number[]): Write {
  const key = keyOf(log, block);
  const removals = slots.map((slot) => asSeen(block, slot));
  if (slots.length === block.slots.size) {
    return { delete: key, ...blockDelete(removals), ...RETURN_BLOCK };
  }
  const changes = removals.map((removal) => ({ ...removal, effect: { kind: 'remove' } as const }));
  return { update: key, ...blockUpdate(changes), ...RETURN_BLOCK };
}

/** A part of a transaction that changes a block returns the block if its condition fails. */
export const RETURN_BLOCK = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
