import {
  type Block,
  type BlockRules,
  expiryOf,
  slotOf,
  surveyBlock,
} from '../../domain/blocks/block.ts';
import { isOfEpochOrLater } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import type { Leftover } from '../claim/choice.ts';
import { FIRST_BLOCK } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { cleanUp } from './clean-up.ts';

/** One call reads at most this many blocks. */
const BLOCKS_MAX = 200;

/**
 * Dead-letters messages whose deliveries are used up, and dead-letters or drops those whose time to live ended under a
 * lock that has expired since (semantics V4). Messages that expired without a lock wait for a receive
 * (semantics #A3, #C9). Deletes empty blocks. True = one of these was found.
 */
export async function deadLetterLapsed(
  context: StoreContext,
  log: Log,
  policy: LogPolicy,
): Promise<boolean> {
  if (log.subQueue !== 'main') return false;
  const now = context.clock.now();
  const page = await readBlocks(context, log, {
    from: FIRST_BLOCK,
    limit: BLOCKS_MAX,
    consistent: true,
  });
  const leftovers = page.blocks.flatMap((block) => lapsed(block, policy.rules, now));
  await cleanUp(context, log, policy, leftovers);
  return leftovers.length > 0;
}

/** A block with what is over in it because a lock ended; also an empty block. */
function lapsed(block: Block, rules: BlockRules, now: number): Leftover[] {
  const survey = surveyBlock(block, rules, now);
  const expired = survey.expired.filter((number) => outlasted(block, number, rules));
  if (block.slots.size > 0 && survey.exhausted.length === 0 && expired.length === 0) return [];
  return [{ block, survey: { ...survey, expired } }];
}

/** Whether an expired lock was still live when the message's time to live ended (semantics #A16). */
function outlasted(block: Block, number: number, rules: BlockRules): boolean {
  const slot = slotOf(block, number);
  const expiresAt = expiryOf(block, slot, rules);
  if (slot.tag === undefined || slot.heldUntil === undefined || expiresAt === undefined)
    return false;
  // A change of the entity may have ended the lock earlier.
  return isOfEpochOrLater(slot.tag, rules.epoch) && slot.heldUntil >= expiresAt;
}
