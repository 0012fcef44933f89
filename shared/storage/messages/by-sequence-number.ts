import type { DeadLetterAction } from '../../broker/broker.ts';
import { type Block, type BlockRules, expiryOf, slotOf } from '../../domain/blocks/block.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { isHeld, unlocked } from '../../domain/blocks/slot.ts';
import { asSeen, blockDelete, blockUpdate } from '../blocks/block-writes.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { announceReturn, keyOf } from '../blocks/read-blocks.ts';
import { afterStoring, decided } from '../dynamodb/unknown-outcome.ts';
import { activateDue } from '../scheduling/activate.ts';
import { addReady } from '../sessions/ready-index.ts';
import { overlayOf, requireRoom } from '../settle/changed-properties.ts';
import { moveOut } from '../settle/move.ts';
import type { StoreContext } from '../store-context.ts';
import { type Found, findByNumber } from './find-by-number.ts';

/** An operator's actions on one message, by sequence number and without a lock. */

/** Tries while receivers change the same message. */
const TRIES_MAX = 5;

type Change = (found: Found) => Promise<boolean>;

/** Ends the lock on a message, whoever holds it; its delivery count stays (semantics L11). */
export async function breakLock(
  context: StoreContext,
  log: Log,
  sequence: bigint,
  policy: LogPolicy,
): Promise<boolean> {
  return await onMessage(context, log, sequence, ['live', 'deferred'], async ({ block, slot }) => {
    const before = slotOf(block, slot);
    const isLocked = before.tag !== undefined;
    if (!isLocked || !isHeld(before, policy.rules, context.clock.now())) return false;
    const written = await context.table.update(
      keyOf(log, block),
      blockUpdate([
        { ...asSeen(block, slot), effect: { kind: 'set', slot: unlocked(before, policy.rules) } },
      ]),
    );
    return decided(written);
  });
}

/** Makes a deferred message active again (semantics L12). */
export async function reactivate(
  context: StoreContext,
  log: Log,
  sequence: bigint,
  policy: LogPolicy,
): Promise<boolean> {
  return await onMessage(context, log, sequence, ['deferred'], async ({ block, slot }) => {
    const before = slotOf(block, slot);
    const { rules } = policy;
    const now = context.clock.now();
    if (isHeld(before, rules, now) || isExpired(block, slot, rules, now)) return false;
    // A reactivated message gets at least one more delivery.
    const deliveriesMax = rules.isDeadLetter ? before.deliveries : rules.maxDeliveryCount - 1;
    const kept = unlocked(before, rules);
    const after = { ...kept, deliveries: Math.min(kept.deliveries, deliveriesMax) };
    const moved = await moveOut(context, log, block, [
      {
        slots: [{ ...asSeen(block, slot), after }],
        to: log,
        section: 'returned',
        overlay: { properties: {} },
      },
    ]);
    return decided(moved);
  });
}

/** Dead-letters an unlocked message (semantics L13). */
export async function deadLetterByNumber(
  context: StoreContext,
  log: Log,
  sequence: bigint,
  action: DeadLetterAction,
  policy: LogPolicy,
): Promise<boolean> {
  return await onMessage(context, log, sequence, ['live', 'deferred'], async ({ block, slot }) => {
    const before = slotOf(block, slot);
    const now = context.clock.now();
    if (isHeld(before, policy.rules, now)) return false;
    if (isExpired(block, slot, policy.rules, now)) return false;
    requireRoom(block, action);
    const moved = await moveOut(context, log, block, [
      {
        slots: [{ ...asSeen(block, slot), after: unlocked(before, policy.rules) }],
        to: policy.deadLetterLog,
        section: 'live',
        overlay: overlayOf(action),
      },
    ]);
    return decided(moved);
  });
}

/** Removes an unlocked message in any state (semantics L13). */
export async function removeByNumber(
  context: StoreContext,
  log: Log,
  sequence: bigint,
  policy: LogPolicy,
): Promise<boolean> {
  const { table, clock } = context;
  const sections = ['live', 'deferred', 'scheduled'] as const;
  return await onMessage(context, log, sequence, sections, async ({ block, slot }) => {
    if (isHeld(slotOf(block, slot), policy.rules, clock.now())) return false;
    const seen = asSeen(block, slot);
    if (block.slots.size > 1) {
      const removal = blockUpdate([{ ...seen, effect: { kind: 'remove' } }]);
      return decided(await table.update(keyOf(log, block), removal));
    }
    const written = await table.delete(keyOf(log, block), blockDelete([seen]));
    if (!decided(written)) return false;
    context.background(() => releasePayload(table, log, block.payload));
    return true;
  });
}

/** Finds a message and changes it; tries again if it changed in between. */
async function onMessage(
  context: StoreContext,
  log: Log,
  sequence: bigint,
  sections: readonly ('live' | 'deferred' | 'scheduled')[],
  change: Change,
): Promise<boolean> {
  await activateDue(context, withoutSession(log), context.clock.now());
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const places = await Promise.all(
      sections.map((section) => findByNumber(context, log, section, sequence)),
    );
    const found = places.find((place) => place !== undefined);
    if (found === undefined) return false;
    let isRefused = false;
    try {
      isRefused = !(await change(found));
    } finally {
      // Also if the outcome of the change is unknown.
      if (!isRefused) announceReturn(context, log);
    }
    if (isRefused) continue;
    await afterStoring(addReady(context, [log]));
    return true;
  }
  return false;
}

/** Whether a message has expired; it then counts as gone, even if it was not cleaned up yet. */
function isExpired(block: Block, slot: number, rules: BlockRules, now: number): boolean {
  const expiresAt = rules.isDeadLetter ? undefined : expiryOf(block, slotOf(block, slot), rules);
  return expiresAt !== undefined && expiresAt <= now;
}
