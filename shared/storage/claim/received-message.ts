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

/**
 * A stored message as a receiver gets it, without delivery count and lock. Its number stays the same (semantics #21).
 */
export function toReceivedMessage(
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

/** The message's own time to live, ms, as the entities on its way lowered it. */
function timeToLiveOf(block: Block, number: number): number | undefined {
  const expiresAt = slotOf(block, number).expiresAt ?? block.expiresAt;
  return expiresAt === undefined ? undefined : expiresAt - block.enqueuedAt;
}

/** The lock token of a message in a block whose lock has this tag. */
export function tokenOf(log: Log, block: Block, number: number, tag: Uint8Array): string {
  assert(block.section !== 'scheduled', 'scheduled messages cannot be locked');
  return formatLockToken({
    section: block.section,
    partition: log.partition,
    block: block.sequence,
    slot: number,
    liveSlots: block.slots.size,
    tag,
  });
}
