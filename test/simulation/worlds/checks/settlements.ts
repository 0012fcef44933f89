import type { History } from '../history.ts';
import {
  deliveriesOf,
  LOCK_ENDERS,
  lastsUntil,
  settlementsOf,
  surelyLastsUntil,
} from './deliveries.ts';

const SETTLEMENTS = ['complete', 'abandon', 'defer', 'deadLetter', 'transact', 'renew'] as const;

/** What was settled was under the lock of whoever did. */
export function falseSettlements(history: History): string[] {
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, heard, actor, kind } = call;
    if (delivery === undefined || heard !== 'done') return [];
    if (delivery.session === undefined && lastsUntil(history, delivery) <= call.startAt) {
      return [`${actor}: ${kind} of ${delivery.tag} succeeded after its lock had run out.`];
    }
    const later = deliveriesOf(history).find(
      (other) =>
        other.delivery.tag === delivery.tag &&
        other.delivery.lockToken !== delivery.lockToken &&
        other.call.end <= call.start &&
        other.delivery.failedDeliveries > delivery.failedDeliveries,
    );
    if (later !== undefined) {
      return [
        `${actor}: ${kind} of ${delivery.tag} succeeded though ${later.call.actor} had it since.`,
      ];
    }
    const twice = history.calls.filter(
      (other) =>
        other.delivery?.lockToken === delivery.lockToken &&
        other !== call &&
        other.kind !== 'renew' &&
        // Asked for again, a transaction has the answer that it had.
        other.kind !== 'transact' &&
        other.heard === 'done' &&
        other.end <= call.start,
    );
    return twice.map(
      (other) => `${actor}: ${kind} of ${delivery.tag} succeeded after ${other.kind} had.`,
    );
  });
}

/** Nobody is told that a lock is lost which nothing can have ended. */
export function falseRefusals(history: History): string[] {
  if (history.mayHave(...LOCK_ENDERS)) return [];
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, code, actor, kind } = call;
    if (delivery === undefined || call.heard !== 'refused' || code !== 'MessageLockLost') return [];
    if (call.endAt >= surelyLastsUntil(history, delivery)) return [];
    const others = settlementsOf(history, delivery).filter(({ start }) => start <= call.end);
    return others.length > 0
      ? []
      : [`${actor}: ${kind} of ${delivery.tag} was refused under a live lock.`];
  });
}
