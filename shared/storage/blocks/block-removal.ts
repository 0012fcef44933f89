import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { keyItem } from '../dynamodb/table.ts';
import type { StoreContext } from '../store-context.ts';
import { asSeen, blockDelete, blockUpdate } from './block-writes.ts';
import { keyOf } from './read-blocks.ts';

/**
 * The write in a transaction that removes messages from a block, each on the condition that its slot is unchanged.
 * Removing the last message deletes the block.
 */
export function removalOf(
  context: StoreContext,
  log: Log,
  block: Block,
  slots: readonly number[],
): TransactWriteItem {
  const target = {
    TableName: context.table.name,
    Key: keyItem(keyOf(log, block)),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const;
  const removals = slots.map((slot) => asSeen(block, slot));
  if (slots.length === block.slots.size) return { Delete: { ...target, ...blockDelete(removals) } };
  const changes = removals.map((removal) => ({ ...removal, effect: { kind: 'remove' } as const }));
  return { Update: { ...target, ...blockUpdate(changes) } };
}
