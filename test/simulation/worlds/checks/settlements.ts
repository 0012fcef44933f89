import type { Call, History } from '../history.ts';
import {
  deliveriesOf,
  LOCK_ENDERS,
  lastsUntil,
  settlementsOf,
  surelyLastsUntil,
} from './deliveries.ts';

const SETTLEMENTS = ['complete', 'abandon', 'defer', 'deadLetter', 'transact', 'renew'] as const;

/** A settlement succeeds only under a live lock of its actor, and once. */
export function falseSettlements(history: History): string[] {
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, outcome, actor, kind } = call;
    if (delivery === undefined || outcome !== 'done') return [];
    const isOver = delivery.session === undefined && lastsUntil(history, delivery) <= call.startAt;
    if (isOver && !isRepeat(history, call)) {
      return [`${actor}: ${kind} of ${delivery.tag} succeeded after its lock had expired.`];
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
        `${actor}: ${kind} of ${delivery.tag} succeeded though ${later.call.actor} received it since.`,
      ];
    }
    const twice = history.calls.filter(
      (other) =>
        other.delivery?.lockToken === delivery.lockToken &&
        other !== call &&
        other.kind !== 'renew' &&
        // A repeated transaction gets its first answer.
        other.kind !== 'transact' &&
        other.outcome === 'done' &&
        other.end <= call.start,
    );
    return twice.map(
      (other) => `${actor}: ${kind} of ${delivery.tag} succeeded after ${other.kind} had.`,
    );
  });
}

/** Whether it is a transaction that an earlier attempt may have carried out, whose answer it then gets. */
function isRepeat(history: History, call: Call): boolean {
  return history
    .of('transact')
    .some(
      ({ delivery, outcome, start }) =>
        delivery?.lockToken === call.delivery?.lockToken &&
        outcome !== 'refused' &&
        start < call.start,
    );
}

/** A settlement is not refused for a lost lock if nothing can have ended the lock. */
export function falseRefusals(history: History): string[] {
  if (history.mayHave(...LOCK_ENDERS)) return [];
  return history.of(...SETTLEMENTS).flatMap((call) => {
    const { delivery, code, actor, kind } = call;
    if (delivery === undefined || call.outcome !== 'refused' || code !== 'MessageLockLost')
      return [];
    if (call.endAt >= surelyLastsUntil(history, delivery)) return [];
    const others = settlementsOf(history, delivery).filter(({ start }) => start <= call.end);
    return others.length > 0
      ? []
      : [`${actor}: ${kind} of ${delivery.tag} was refused under a live lock.`];
  });
}
