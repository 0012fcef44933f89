import { isOfEpoch } from './lock-token.ts';
import { isUnder, type SessionRules, wasGivenBack } from './session.ts';

/**
 * What a block knows of one of its messages. A slot that is absent is a message that is gone.
 * Everything here is decided by pure functions; storage carries a decision out as one write on the
 * condition that the slot is still what it was.
 */
export interface Slot {
  /**
   * Deliveries that began; counted when a lock is taken, so that nobody need write at its end. It only
   * grows: a claim whose answer was lost, and which arrives late, finds another number.
   */
  readonly deliveries: number;
  /** How many of them do not count, since they were given back untried. */
  readonly uncounted?: number;
  /** Not available before this instant (epoch ms): the end of a lock, or of a delay. */
  readonly heldUntil?: number;
  /** Whose lock it is; absent while the slot is merely delayed. */
  readonly tag?: Uint8Array;
  /** Epoch ms at which the message's own time to live ends, where its block does not say. */
  readonly expiresAt?: number;
}

export const FRESH_SLOT: Slot = { deliveries: 0 };

/** What holds for the log that a slot lies in. */
export interface SlotRules {
  readonly epoch: number;
  /** A dead-letter queue counts no deliveries, knows no expiry and no end of patience (semantics #28, #29). */
  readonly isDeadLetter: boolean;
  readonly maxDeliveryCount: number;
  /** Set where messages lie by session: its lock then decides for them, not their own. */
  readonly session?: SessionRules;
}

/** What tells whether a lock is live. */
export type LockRules = Pick<SlotRules, 'epoch' | 'session'>;

/** What a receiver may do with a slot at an instant. */
export type Availability =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly until: number }
  /** Its deliveries are used up: it belongs in the dead-letter queue. */
  | { readonly kind: 'exhausted' }
  /** Its time to live is over, and no lock protects it. */
  | { readonly kind: 'expired' };

/**
 * Tells whether a message can be handed out. A lock ends by time alone, at `heldUntil` exactly, or
 * by a change of the entity, which raised the epoch. Patience is asked before expiry: where both
 * have run out, the message is kept in the dead-letter queue rather than dropped.
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

/** Whether a lock or a delay keeps the message back now. */
export function isHeld(slot: Slot, rules: LockRules, now: number): boolean {
  const { epoch, session } = rules;
  if (session !== undefined) return isHeldInSession(slot, rules);
  if (slot.heldUntil === undefined || slot.heldUntil <= now) return false;
  return slot.tag === undefined || isOfEpoch(slot.tag, epoch);
}

/**
 * In a session its holder holds what it received. What was locked for longer than the holder's own lock
 * lasts belongs to a later one: whoever looks has lost the session and does not know it yet.
 */
function isHeldInSession({ tag, heldUntil }: Slot, { epoch, session }: LockRules): boolean {
  const holder = session?.holder;
  if (tag === undefined || session === undefined || holder === undefined) return false;
  if (isUnder(tag, holder.tenure)) return true;
  const isLater = heldUntil !== undefined && heldUntil >= holder.lockedUntil;
  return isLater && isOfEpoch(tag, epoch) && !wasGivenBack(tag, session);
}

/** Deliveries that count. One that ended because its session was given back is not among them. */
export function deliveriesOf(slot: Slot, rules: LockRules): number {
  return begun(slot, rules) - (slot.uncounted ?? 0);
}

function begun({ deliveries, tag }: Slot, { session }: LockRules): number {
  return session !== undefined && wasGivenBack(tag, session) ? deliveries - 1 : deliveries;
}

/** The slot with no lock on it: what is kept when its message goes elsewhere. */
export function unlocked(slot: Slot, rules: LockRules): Slot {
  const { expiresAt } = slot;
  const deliveries = deliveriesOf(slot, rules);
  return expiresAt === undefined ? { deliveries } : { deliveries, expiresAt };
}

/** The slot under a new lock. The delivery is counted here, except in a dead-letter queue. */
export function claimed(slot: Slot, tag: Uint8Array, until: number, rules: SlotRules): Slot {
  return {
    ...slot,
    deliveries: begun(slot, rules) + (rules.isDeadLetter ? 0 : 1),
    heldUntil: until,
    tag,
  };
}

/**
 * Deliveries that ended without success, as AMQP counts them: the one under way is not among them.
 * In a dead-letter queue none is ever added (semantics #28).
 */
export function failedDeliveries(slot: Slot, rules: SlotRules, now: number): number {
  const underWay = !rules.isDeadLetter && slot.tag !== undefined && isHeld(slot, rules, now);
  const deliveries = deliveriesOf(slot, rules);
  return underWay ? deliveries - 1 : deliveries;
}

/** Whether a token's lock is live on this slot: the same tag, not run out, of this epoch. */
export function holdsLock(
  slot: Slot | undefined,
  tag: Uint8Array,
  rules: LockRules,
  now: number,
): slot is Slot {
  if (slot?.tag === undefined || !isHeld(slot, rules, now)) return false;
  return slot.tag.every((byte, i) => byte === tag[i]);
}
