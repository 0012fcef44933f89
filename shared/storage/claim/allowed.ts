import type { Allowance } from '../../broker/ports/messages.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { holdPayloads } from '../../domain/messages/payload-account.ts';
import { logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { answerable, type SizedTarget } from './answer-size.ts';
import { type Target, unhide } from './choice.ts';
import type { Receive } from './claim-blocks.ts';

/** Cuts the chosen messages to what the answer can carry and what other claims of the same receive leave. */
export async function chooseAllowed(
  receive: Receive,
  targets: readonly Target[],
): Promise<readonly SizedTarget[]> {
  try {
    const sized = await answerable(receive, targets);
    const allowed = allowedOf(sized, receive.request.allowance);
    holdAllowed(receive, allowed);
    leavePassedOver(receive, targets, allowed);
    return allowed;
  } catch (error) {
    leaveToOthers(receive.context, receive.log, targets);
    throw error;
  }
}

/** Counts large payloads against the receive's memory; if there is no room, other logs may use the allowance. */
function holdAllowed(
  { log, request: { payloads, allowance } }: Receive,
  allowed: readonly SizedTarget[],
): void {
  const blocks = allowed.map(({ block }) => block);
  try {
    holdPayloads(payloads, log, blocks);
  } catch (error) {
    giveBack(allowance, allowed, 0);
    throw error;
  }
}

/** Cuts the targets of one log to what the other logs' claims leave of a shared allowance. */
function allowedOf(
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

/** The number of messages in `targets`. */
export function countOf(targets: readonly Target[]): number {
  return targets.reduce((sum, { slots }) => sum + slots.length, 0);
}

/** Leaves the chosen messages that are not allowed to other receives. */
function leavePassedOver(
  { context, log }: Receive,
  chosen: readonly Target[],
  allowed: readonly Target[],
): void {
  const slotsOf = new Map(allowed.map(({ block, slots }) => [block, slots]));
  const passedOver = chosen.filter(
    ({ block, slots }) => slotsOf.get(block)?.length !== slots.length,
  );
  for (const { block, reservation } of passedOver) {
    const slots = slotsOf.get(block);
    if (slots === undefined) reservation.end(false);
    else reservation.keep(slots);
  }
  unhide(context, log, passedOver);
}

/** Gives up the chosen messages, and drops the hint that skips them. */
export function leaveToOthers(
  { scanHints }: StoreContext,
  log: Log,
  targets: readonly Target[],
): void {
  for (const { reservation } of targets) reservation.end(false);
  scanHints.invalidate(logName(log));
}

/** Returns the unused part of an allowance. Payloads count whole, so their bytes return only if nothing was claimed. */
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
