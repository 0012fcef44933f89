import type { Call, History } from '../history.ts';
import {
  type Delivered,
  deliveriesOf,
  LOCK_ENDERS,
  pairsOf,
  settlementsOf,
  surelyLastsUntil,
} from './deliveries.ts';

/** A message has one holder at a time. */
export function sharedLocks(history: History): string[] {
  if (history.mayHave(...LOCK_ENDERS)) return [];
  const locked = deliveriesOf(history).filter(({ delivery }) => delivery.lockToken !== undefined);
  return pairsOf(locked).flatMap(([a, b]) => {
    if (a.delivery.tag !== b.delivery.tag || a.delivery.path !== b.delivery.path) return [];
    if (endsBefore(history, a, b) || endsBefore(history, b, a)) return [];
    return [
      `${a.delivery.tag} was locked by ${a.call.actor} and ${b.call.actor} at the same time.`,
    ];
  });
}

/** Whether a lock may have ended before the call of another delivery ended. */
function endsBefore(history: History, a: Delivered, b: Delivered): boolean {
  if (b.call.end < a.call.start) return false;
  if (surelyLastsUntil(history, a.delivery) <= b.call.endAt) return true;
  return settlementsOf(history, a.delivery).some(
    ({ kind, start }) => kind !== 'complete' && kind !== 'transact' && start <= b.call.end,
  );
}

/** A message that was completed, or received and deleted, is not received again. */
export function sharedRemovals(history: History): string[] {
  const all = deliveriesOf(history);
  const removed = all.flatMap((one) => {
    if (one.delivery.lockToken === undefined) return [{ ...one, at: one.call }];
    const done = settlementsOf(history, one.delivery).find(
      ({ kind, outcome }) => outcome === 'done' && (kind === 'complete' || kind === 'transact'),
    );
    return done === undefined ? [] : [{ ...one, at: done }];
  });
  const again = removed.flatMap(({ call, delivery, at }) =>
    all
      .filter((other) => other.call !== call && other.delivery.tag === delivery.tag)
      .filter((other) => other.delivery.lockToken === undefined || other.call.start >= at.end)
      .map((other) => `${delivery.tag} was removed by ${at.actor} and got by ${other.call.actor}.`),
  );
  const twice = pairsOf(removed)
    .filter(([a, b]) => a.delivery.tag === b.delivery.tag)
    .map(([a, b]) => `${a.delivery.tag} was completed by ${a.at.actor} and by ${b.at.actor}.`);
  return [...again, ...twice];
}

/** A session has one holder at a time. */
export function sharedSessions(history: History): string[] {
  const held = history
    .of('accept')
    .filter(({ outcome, answer }) => outcome === 'done' && answer !== 'none');
  if (history.mayHave('update', 'delete')) return [];
  const isOver = (a: Call, b: Call) =>
    sessionUntil(history, a) <= b.endAt ||
    history
      .of('release')
      .some(
        ({ session, outcome, start }) =>
          session === a.session && outcome !== 'refused' && start <= b.end,
      );
  return pairsOf(held)
    .filter(([a, b]) => a.answer === b.answer && !isOver(a, b) && !isOver(b, a))
    .map(
      ([a, b]) => `Session ${a.answer} was locked by ${a.actor} and ${b.actor} at the same time.`,
    );
}

/** An accept is not refused for a held session after all of its locks have ended. */
export function falselyHeld(history: History): string[] {
  const lasting = history.of('accept', 'renewSession');
  return history
    .of('accept')
    .filter(({ code }) => code === 'SessionCannotBeLocked')
    .filter((call) =>
      lasting.every(
        (other) =>
          other === call ||
          other.outcome === 'refused' ||
          (other.outcome === 'done' && (other.lockedUntil ?? 0) <= call.startAt) ||
          other.start > call.end,
      ),
    )
    .map(({ actor, text }) => `${actor} was refused session ${text}, which was not locked.`);
}

/** The expiry of the lock of an accepted session, by the answers, epoch ms. */
function sessionUntil(history: History, { session, lockedUntil = 0 }: Call): number {
  const renewals = history.of('renewSession').filter((call) => call.session === session);
  return Math.max(lockedUntil, ...renewals.map((call) => call.lockedUntil ?? 0));
}
