import { assert } from '../../domain/assert.ts';
import {
  type Block,
  type BlockRules,
  expiryOf,
  sequenceNumberOf,
  slotOf,
} from '../../domain/blocks/block.ts';
import { formatLockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';

/** What a receiver sees of a message, apart from its deliveries and its lock. */
export function messageSeen(
  log: Log,
  block: Block,
  number: number,
  message: Message,
  rules: BlockRules,
) {
  const expiresAt = expiryOf(block, slotOf(block, number), rules);
  const timeToLiveMs = timeToLiveOf(block, number) ?? rules.defaultTimeToLiveMs;
  return {
    message,
    sequenceNumber: sequenceNumberOf(log.partition, block.sequence + BigInt(number)),
    enqueuedAt: block.enqueuedAt,
    state: 'Active' as const,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(timeToLiveMs === undefined ? {} : { timeToLiveMs }),
  };
}

/** The time to live of the message's own, ms, as it was lowered on the way to its place. */
function timeToLiveOf(block: Block, number: number): number | undefined {
  const expiresAt = slotOf(block, number).expiresAt ?? block.expiresAt;
  return expiresAt === undefined ? undefined : expiresAt - block.enqueuedAt;
}

/** The token of a lock just taken on a message of a block. */
export function tokenOf(log: Log, block: Block, number: number, tag: Uint8Array): string {
  assert(block.store !== 'scheduled', 'scheduled messages cannot be locked');
  return formatLockToken({
    store: block.store,
    partition: log.partition,
    block: block.sequence,
    slot: number,
    liveSlots: block.slots.size,
    tag,
  });
}
