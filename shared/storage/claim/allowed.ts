import type { Allowance } from '../../broker/ports/messages.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import type { SizedTarget } from './answer-size.ts';
import type { Target } from './choice.ts';

/** Of what a log has to offer, as much as the claims of other logs left of what all may take. */
export function allowedOf(
  targets: readonly SizedTarget[],
  allowance: Allowance | undefined,
): readonly SizedTarget[] {
  if (allowance === undefined) return targets;
  return targets.flatMap((target) => {
    const count = allowance.take(
      target.slots.length,
      target.block.payload.bytes,
      target.answerBytes,
    );
    return count === 0 ? [] : [{ ...target, slots: target.slots.slice(0, count) }];
  });
}

/** How many messages were chosen. */
export function countOf(targets: readonly Target[]): number {
  return targets.reduce((sum, { slots }) => sum + slots.length, 0);
}

/** The targets of which more was chosen than allowed. */
export function passedOver(
  chosen: readonly Target[],
  allowed: readonly Target[],
): readonly Target[] {
  const taken = new Map(allowed.map(({ block, slots }) => [block, slots.length]));
  return chosen.filter(({ block, slots }) => taken.get(block) !== slots.length);
}

/** Leaves what was found in a log to others. */
export function leaveToOthers(
  { fronts }: StoreContext,
  log: Log,
  targets: readonly Target[],
): void {
  for (const { reservation } of targets) reservation.release();
  fronts.forget(logName(log));
}

/** Gives back what was allowed and not got. Blocks count as a whole, so bytes come back where nothing was got. */
export function giveBack(
  allowance: Allowance | undefined,
  allowed: readonly SizedTarget[],
  got: number,
): void {
  const all = { bytes: 0, answerBytes: 0 };
  for (const { block, answerBytes } of got === 0 ? allowed : []) {
    all.bytes += block.payload.bytes;
    all.answerBytes += answerBytes;
  }
  allowance?.giveBack(countOf(allowed) - got, all.bytes, all.answerBytes);
}
