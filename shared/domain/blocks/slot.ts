import { isSameBytes } from '../same-bytes.ts';
import { isOfEpochOrLater } from './lock-token.ts';
import { isOfSessionLock, type SessionLockState, wasReleased } from './session.ts';

/**
 * The state of one message in its block. A message that is gone has no slot. The pure functions in this file
 * decide what happens to a slot; storage then applies the decision in one write, on the condition that the
 * slot is still as the decision saw it.
 */
export interface Slot {
  /**
   * How many deliveries began. The claim counts a delivery, so that the end of a lock needs no write (semantics #6). A
   * claim that arrives late, after its answer was lost, finds another number and fails; in a session it finds another
   * tag.
   */
  readonly deliveries: number;
  /** How many of these deliveries do not count, since the receiver released the message untried. */
  readonly uncounted?: number;
  /** The end of the lock or of the delay, epoch ms; before it the message is not available. */
  readonly heldUntil?: number;
  /** The lock tag of the lock's holder; absent if the slot is only delayed. */
  readonly tag?: Uint8Array;
  /** Epoch ms at which the message expires by its own time to live, if its block does not say it. */
  readonly expiresAt?: number;
}

/** The slot of a message that was never delivered. */
export const FRESH_SLOT: Slot = { deliveries: 0 };

/** The rules of the log that a slot belongs to. */
export interface SlotRules {
  /** The entity's current epoch. Locks of another epoch are over. */
  readonly epoch: number;
  /**
   * A dead-letter queue counts no deliveries, and has neither expiry nor a maximum delivery count
   * (semantics #28, #29), so nothing leaves it by itself (semantics #30, #C5).
   */
  readonly isDeadLetter: boolean;
  readonly maxDeliveryCount: number;
  /** Set if messages are stored by session: the session's lock then decides, not `heldUntil` of the slot. */
  readonly session?: SessionLockState;
}

/** The rules that decide whether a lock is live. */
export type LockRules = Pick<SlotRules, 'epoch' | 'session'>;

/** What a receiver may do with a slot at one instant. */
export type Availability =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly until: number }
  /** Its deliveries are used up: it must be dead-lettered. */
  | { readonly kind: 'exhausted' }
  /** Its time to live is over, and no lock protects it any more (semantics #A16). */
  | { readonly kind: 'expired' };

/**
 * Decides whether a message can be delivered at `now`, epoch ms (semantics L3). A lock ends at `heldUntil` exactly
 * (semantics #6), or when a change of the entity raises the epoch. A message expires at `expiresAt` exactly
 * (semantics #A5), but not under a lock (semantics #A6). After `maxDeliveryCount` deliveries there is no other
 * (semantics #C7, #22, #B9). They are checked before the expiry: a message that fails both goes to the dead-letter
 * queue rather than being dropped (semantics D4).
 */
export function availability(
  slot: Slot,
  expiresAt: number | undefined,
  rules: SlotRules,
  now: number,
): Availability {
  if (isHeld(slot, rules, now)) return { kind: 'held', until: slot.heldUntil ?? now };
  if (rules.isDeadLetter) return { kind: 'free' };
  if (deliveriesOf(slot, rules) >= rules.maxDeliveryCount) return { kind: 'exhausted' };
  if (expiresAt !== undefined && expiresAt <= now) return { kind: 'expired' };
  return { kind: 'free' };
}

/** Whether a lock or a delay makes the message unavailable at `now`, epoch ms (semantics #3). */
export function isHeld(slot: Slot, rules: LockRules, now: number): boolean {
  const { epoch, session } = rules;
  if (session !== undefined) return isHeldInSession(slot, rules);
  if (slot.heldUntil === undefined || slot.heldUntil <= now) return false;
  return slot.tag === undefined || isOfEpochOrLater(slot.tag, epoch);
}

/**
 * In a session, the holder of the session lock holds every message that it received. A message that is locked
 * for longer than the known session lock belongs to a later lock: the rules are stale, since the session was
 * lost in the meantime.
 */
function isHeldInSession({ tag, heldUntil }: Slot, { epoch, session }: LockRules): boolean {
  const holder = session?.holder;
  if (tag === undefined || session === undefined || holder === undefined) return false;
  if (isOfSessionLock(tag, holder.lockId)) return true;
  const isLater = heldUntil !== undefined && heldUntil >= holder.lockedUntil;
  return isLater && isOfEpochOrLater(tag, epoch) && !wasReleased(tag, session);
}

/** The deliveries that count. One that ended because its session was released does not. */
export function deliveriesOf(slot: Slot, rules: LockRules): number {
  return begun(slot, rules) - (slot.uncounted ?? 0);
}

function begun({ deliveries, tag }: Slot, { session }: LockRules): number {
  return session !== undefined && wasReleased(tag, session) ? deliveries - 1 : deliveries;
}

/** The slot without its lock, as it is kept when the message moves elsewhere. */
export function unlocked(slot: Slot, rules: LockRules): Slot {
  const { expiresAt } = slot;
  const deliveries = deliveriesOf(slot, rules);
  return expiresAt === undefined ? { deliveries } : { deliveries, expiresAt };
}

/**
 * The slot under a new lock until `until` (epoch ms). It counts the delivery, except in a dead-letter queue.
 */
export function claimed(slot: Slot, tag: Uint8Array, until: number, rules: SlotRules): Slot {
  return {
    ...slot,
    deliveries: begun(slot, rules) + (rules.isDeadLetter ? 0 : 1),
    heldUntil: until,
    tag,
  };
}

/**
 * Deliveries that ended without success, the delivery-count of AMQP. The current delivery is not included
 * (semantics #10). In a dead-letter queue the number never grows (semantics #28).
 */
export function failedDeliveries(slot: Slot, rules: SlotRules, now: number): number {
  const underWay = !rules.isDeadLetter && slot.tag !== undefined && isHeld(slot, rules, now);
  const deliveries = deliveriesOf(slot, rules);
  return underWay ? deliveries - 1 : deliveries;
}

/**
 * Whether the lock with this tag is live on the slot: the same tag, not expired, of the current epoch. `underLock` is
 * the same as a condition of a write.
 */
export function holdsLock(
  slot: Slot | undefined,
  tag: Uint8Array,
  rules: LockRules,
  now: number,
): slot is Slot {
  return slot !== undefined && isSameBytes(slot.tag, tag) && isHeld(slot, rules, now);
}
