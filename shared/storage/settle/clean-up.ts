import { type Block, slotOf, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { unlocked } from '../../domain/blocks/slot.ts';
import {
  type DeadLetterReason,
  maxDeliveryExceeded,
  TIME_TO_LIVE_EXPIRED,
} from '../../domain/messages/dead-letter-reasons.ts';
import { text } from '../../domain/messages/property-value.ts';
import { resultOf } from '../../domain/result-of.ts';
import { mapInTurns } from '../../domain/turns/loop-turns.ts';
import { asSeen, blockDelete, blockUpdate, type SlotCondition } from '../blocks/block-writes.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { deleteEmptyBlock, keyOf } from '../blocks/read-blocks.ts';
import type { Leftover } from '../claim/choice.ts';
import { readSession, toLockState } from '../sessions/session-item.ts';
import type { StoreContext } from '../store-context.ts';
import { type MoveOut, moveOut } from './move.ts';

/**
 * Cleans up blocks: moves messages without deliveries left into the dead-letter queue, and expired ones there or
 * deletes them, as the policy says (semantics #A15, #48); deletes empty blocks. Each change is conditional on an
 * unchanged slot, so several receivers, or a receiver and the sweep, do no harm to each other.
 */
export async function cleanUp(
  context: StoreContext,
  log: Log,
  policy: LogPolicy,
  leftovers: readonly Leftover[],
): Promise<void> {
  const judged = await judgeAgain(context, log, policy, leftovers);
  // Waits for all of them: no write may still be under way after the answer.
  const outcomes = await mapInTurns(context.requestTurns, judged.leftovers, (leftover) =>
    resultOf(cleanUpBlock(context, log, judged.policy, leftover)),
  );
  for (const outcome of outcomes) if ('error' in outcome) throw outcome.error;
}

/**
 * Judges leftovers of a session again, for a caller that does not hold the session: it read the session before the
 * messages, so a message received in between would look as if its last delivery had ended. Reads the session again and
 * keeps only what is over under its present lock. One read unit.
 */
async function judgeAgain(
  context: StoreContext,
  log: Log,
  policy: LogPolicy,
  leftovers: readonly Leftover[],
): Promise<{ readonly policy: LogPolicy; readonly leftovers: readonly Leftover[] }> {
  const isAnyOver = leftovers.some(
    ({ survey }) => survey.exhausted.length + survey.expired.length > 0,
  );
  const isHolder = policy.rules.session?.holder !== undefined;
  if (log.sessionId === undefined || isHolder || !isAnyOver) return { policy, leftovers };
  const known = await readSession(context, log);
  const now = context.clock.now();
  const rules = { ...policy.rules, session: toLockState(known, log, now) };
  const again = leftovers.map(({ block, survey }) => {
    const { exhausted, expired } = surveyBlock(block, rules, now);
    return {
      block,
      survey: {
        ...survey,
        exhausted: survey.exhausted.filter((number) => exhausted.includes(number)),
        expired: survey.expired.filter((number) => expired.includes(number)),
      },
    };
  });
  return { policy: { ...policy, rules }, leftovers: again };
}

async function cleanUpBlock(
  context: StoreContext,
  log: Log,
  policy: LogPolicy,
  { block, survey }: Leftover,
): Promise<void> {
  if (block.slots.size === 0) {
    await deleteEmptyBlock(context, log, block);
    return;
  }
  if (survey.exhausted.length + survey.expired.length === 0) return;
  const moves: MoveOut[] = [];
  if (survey.exhausted.length > 0) {
    const reason = maxDeliveryExceeded(policy.rules.maxDeliveryCount);
    moves.push(toDeadLetters(block, survey.exhausted, policy, reason));
  }
  const isDropped = policy.onExpiry === 'drop';
  if (survey.expired.length > 0 && !isDropped) {
    moves.push(toDeadLetters(block, survey.expired, policy, TIME_TO_LIVE_EXPIRED));
  }
  const dropped = isDropped ? survey.expired.map((number) => asSeen(block, number)) : [];
  if (moves.length > 0) await moveOut(context, log, block, moves, dropped);
  else await drop(context, log, block, dropped);
}

/** The move of messages into the dead-letter queue, with the reason as their properties. */
export function toDeadLetters(
  block: Block,
  numbers: readonly number[],
  { rules, deadLetterLog: to }: LogPolicy,
  { reason, description }: DeadLetterReason,
): MoveOut {
  return {
    slots: numbers.map((number) => ({
      ...asSeen(block, number),
      after: unlocked(slotOf(block, number), rules),
    })),
    to,
    section: 'live',
    overlay: {
      properties: {
        DeadLetterReason: text(reason),
        DeadLetterErrorDescription: text(description),
      },
    },
  };
}

async function drop(
  context: StoreContext,
  log: Log,
  block: Block,
  removals: readonly { number: number; when: SlotCondition }[],
): Promise<void> {
  const { table } = context;
  if (removals.length < block.slots.size) {
    const changes = removals.map((removal) => ({
      ...removal,
      effect: { kind: 'remove' } as const,
    }));
    await table.update(keyOf(log, block), blockUpdate(changes));
    return;
  }
  const written = await table.delete(keyOf(log, block), blockDelete(removals));
  if (written.done) context.background(() => releasePayload(table, log, block.payload));
}
