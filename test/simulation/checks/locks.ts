import type { Delivery, OperationRecord, SessionGrant } from '../clients/record.ts';
import { entityOf } from '../scenario/scenario.ts';
import type { Copy, Delivered } from './copy.ts';
import type { Ledger } from './ledger.ts';

/** When the lock of a delivery ends by time, as far as renewals say that had been answered before an instant. */
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

/** When a session lock ends by time, as far as renewals say that had been answered before an instant. */
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

/** The latest instant until which the lock can be live: also renewals count of which nothing was heard. */
export function lockedUntilMost(copy: Copy, delivery: Delivery): number {
  const isUnheard = copy.settlements.some(
    ({ item }) =>
      item.how === 'renew' && item.delivery.id === delivery.id && item.outcome === 'unknown',
  );
  return isUnheard
    ? Number.POSITIVE_INFINITY
    : Math.max(
        delivery.lockedUntil ?? 0,
        ...copy.settlements.map(({ item }) =>
          item.delivery.id === delivery.id ? (item.lockedUntil ?? 0) : 0,
        ),
      );
}

/** Whether anything else than time may have ended a lock before an operation was over. */
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
  // Somebody else had it in between; that one is judged on its own.
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
  const { action, heard } = record;
  const entity = entityOf(delivery.path);
  switch (action.kind) {
    case 'update':
    case 'recreate':
      return heard !== 'refused' && action.entity === entity;
    case 'purge':
    case 'deleteMessages':
      return heard !== 'refused' && entityOf(action.from) === entity;
    case 'operate':
      return heard !== 'refused' && ledger.named(record).has(copy.tag);
    case 'resubmit':
      return entityOf(action.from) === entity;
    case 'releaseSession':
      return heard !== 'refused' && record.session?.lockToken === delivery.session?.lockToken;
    // A receive that fails in a session ends the session's lock.
    case 'receive':
    case 'receiveDeferred':
      return (
        heard !== 'done' &&
        delivery.session !== undefined &&
        record.session?.sessionId === delivery.session.sessionId
      );
    // One that was not heard may have been carried out.
    case 'accept':
      return heard === 'unknown' && delivery.session !== undefined;
    default:
      return false;
  }
}

/** A delivery as violations name it. */
export function describeDelivery({ delivery, record }: Delivered): string {
  const until =
    delivery.lockedUntil === undefined ? 'removed' : `until ${delivery.lockedUntil % 1e7}`;
  return `operation ${record.number} by ${record.client} over ${record.process} from ${record.start % 1e7} to ${record.end % 1e7} (${until})`;
}
