import type { Delivery, OperationRecord, SessionGrant } from '../clients/record.ts';
import { entityOf } from '../scenario/scenario.ts';
import type { Copy, Delivered } from './copy.ts';
import type { Ledger } from './ledger.ts';

/** The expiry of a delivery's lock, by the renewals that were answered before an instant. */
export function lockedUntilAt(
  ledger: Ledger,
  copy: Copy,
  delivery: Delivery,
  instant: number,
): number {
  const { session } = delivery;
  if (session !== undefined) {
    const { lockToken } = session;
    return sessionLockedUntil(
      ledger,
      { lockToken, lockedUntil: delivery.lockedUntil ?? 0 },
      instant,
    );
  }
  return Math.max(
    delivery.lockedUntil ?? 0,
    ...copy.settlements.flatMap(({ item, record }) =>
      item.how === 'renew' && item.delivery.id === delivery.id && record.end <= instant
        ? [item.lockedUntil ?? 0]
        : [],
    ),
  );
}

/** The expiry of a session lock, by the renewals that were answered before an instant. */
export function sessionLockedUntil(
  ledger: Ledger,
  { lockToken, lockedUntil }: Pick<SessionGrant, 'lockToken' | 'lockedUntil'>,
  instant: number,
): number {
  return Math.max(
    lockedUntil,
    ...ledger.records.flatMap(({ action, granted, end }) =>
      action.kind === 'renewSession' && granted?.lockToken === lockToken && end <= instant
        ? [granted.lockedUntil]
        : [],
    ),
  );
}

/** The latest possible expiry of a lock, which counts renewals without an answer. */
export function lockedUntilMost(copy: Copy, delivery: Delivery): number {
  const isUnanswered = copy.settlements.some(
    ({ item }) =>
      item.how === 'renew' && item.delivery.id === delivery.id && item.outcome === 'unknown',
  );
  return isUnanswered
    ? Number.POSITIVE_INFINITY
    : Math.max(
        delivery.lockedUntil ?? 0,
        ...copy.settlements.map(({ item }) =>
          item.delivery.id === delivery.id ? (item.lockedUntil ?? 0) : 0,
        ),
      );
}

/** Whether an operation may have ended a lock before this operation ended. */
export function endsLock(
  ledger: Ledger,
  copy: Copy,
  delivery: Delivery,
  { end, number }: OperationRecord,
): boolean {
  const isSettled = copy.settlements.some(
    ({ item, record }) =>
      item.delivery.id === delivery.id &&
      item.how !== 'renew' &&
      record.start <= end &&
      record.number !== number &&
      item.outcome !== 'refused',
  );
  // Another client received it in between; that delivery is checked on its own.
  const since = copy.deliveries.find((one) => one.delivery.id === delivery.id)?.record.end ?? 0;
  const isTakenOver = copy.deliveries.some(
    (one) =>
      one.delivery.id !== delivery.id &&
      one.record.start >= since &&
      one.record.end <= end &&
      one.record.number !== number,
  );
  return (
    isSettled ||
    isTakenOver ||
    ledger.records.some(
      (record) =>
        record.start <= end && record.number !== number && mayEnd(ledger, record, copy, delivery),
    )
  );
}

function mayEnd(ledger: Ledger, record: OperationRecord, copy: Copy, delivery: Delivery): boolean {
  const { action, outcome } = record;
  const entity = entityOf(delivery.path);
  switch (action.kind) {
    case 'update':
    case 'recreate':
      return outcome !== 'refused' && action.entity === entity;
    case 'purge':
    case 'deleteMessages':
      return outcome !== 'refused' && entityOf(action.from) === entity;
    case 'operate':
      return outcome !== 'refused' && ledger.named(record).has(copy.tag);
    case 'resubmit':
      return entityOf(action.from) === entity;
    case 'releaseSession':
      return outcome !== 'refused' && record.session?.lockToken === delivery.session?.lockToken;
    // A receive that fails in a session ends the session's lock.
    case 'receive':
    case 'receiveDeferred':
      return (
        outcome !== 'done' &&
        delivery.session !== undefined &&
        record.session?.sessionId === delivery.session.sessionId
      );
    // An accept without an answer may have taken effect.
    case 'accept':
      return outcome === 'unknown' && delivery.session !== undefined;
    default:
      return false;
  }
}

/** A delivery as violations describe it. */
export function describeDelivery({ delivery, record }: Delivered): string {
  const until =
    delivery.lockedUntil === undefined ? 'removed' : `until ${delivery.lockedUntil % 1e7}`;
  return `operation ${record.number} by ${record.client} over ${record.process} from ${record.start % 1e7} to ${record.end % 1e7} (${until})`;
}
