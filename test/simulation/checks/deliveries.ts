import type { OperationRecord } from '../clients/record.ts';
import { OFFSET_MS_MAX } from '../scenario/draw.ts';
import { entityOf, isDeadLetterPath } from '../scenario/scenario.ts';
import { earliestClock, latestClock } from './clock-readings.ts';
import type { Copy, Delivered } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { describeDelivery, endsLock, lockedUntilAt } from './locks.ts';
import { mayHaveTakenMore } from './taken.ts';
import { type Violation, violation } from './violation.ts';

/** Checks deliveries: one holder at a time, none after completion, exact counts, deadlines. */
export function checkDeliveries(ledger: Ledger): readonly Violation[] {
  const uncertain = uncertainCounts(ledger);
  return ledger.copies.flatMap((copy) => [
    ...checkTwoLocks(ledger, copy),
    ...checkReturned(copy),
    ...(uncertain === undefined ? [] : checkCounts(ledger, uncertain, copy)),
    ...checkDeadlines(ledger, copy),
  ]);
}

/** No delivery of a message may begin while another delivery's lock is live. */
function checkTwoLocks(ledger: Ledger, copy: Copy): readonly Violation[] {
  const found: Violation[] = [];
  for (const first of copy.deliveries) {
    const { delivery } = first;
    if (delivery.lockToken === undefined) continue;
    for (const second of copy.deliveries) {
      if (second === first || second.delivery.lockToken === delivery.lockToken) continue;
      if (second.record.start < first.record.end || second.delivery.path !== delivery.path)
        continue;
      // checkSessions judges whether the session had two holders.
      if (second.delivery.session?.lockToken !== delivery.session?.lockToken) continue;
      const until = lockedUntilAt(ledger, copy, delivery, second.record.start);
      if (latestClock(second.record) >= until) continue;
      if (endsLock(ledger, copy, delivery, second.record)) continue;
      if (copy.deliveries.some((one) => isBetween(one, first, second))) continue;
      const text = `${copy.tag} was delivered under a live lock: ${describeDelivery(first)}, ${describeDelivery(second)}`;
      found.push(violation('two locks', text, [first.record, second.record], [copy.tag]));
    }
  }
  return found.slice(0, 1);
}

/** Whether a delivery's count is between those of two others; then it is compared with each of them. */
function isBetween({ delivery }: Delivered, first: Delivered, second: Delivered): boolean {
  const { path, failedDeliveries } = delivery;
  const isLater = failedDeliveries > first.delivery.failedDeliveries;
  return (
    path === first.delivery.path && isLater && failedDeliveries < second.delivery.failedDeliveries
  );
}

/** A message that was completed, or received and deleted, is not delivered again. */
function checkReturned(copy: Copy): readonly Violation[] {
  const ends = [
    ...copy.settlements
      .filter(({ item }) => item.how === 'complete' && item.outcome === 'done')
      .map(({ record, item }) => ({ record, path: item.delivery.path })),
    ...copy.deliveries
      .filter(({ delivery }) => delivery.lockToken === undefined)
      .map(({ record, delivery }) => ({ record, path: delivery.path })),
  ];
  for (const { record } of ends) {
    const again = copy.deliveries.find(
      (one) => one.record !== record && one.record.start >= record.end,
    );
    if (again === undefined) continue;
    const text = `${copy.tag} was delivered again after its completion: ${describeDelivery(again)}`;
    return [violation('returned', text, [record, again.record], [copy.tag])];
  }
  return [];
}

/** Why a delivery count may differ from the deliveries that clients know of. */
interface UncertainCounts {
  /** Tags of messages that an operator reactivated, which may lower their count. */
  readonly reactivated: ReadonlySet<string>;
  /**
   * By path, the receives that may have locked messages without returning them: also those whose locks an
   * update of the entity ended before the receive had read the bodies.
   */
  readonly unanswered: ReadonlyMap<string, readonly OperationRecord[]>;
}

/** Returns undefined if counts cannot be checked, because a resubmitted message starts a new count. */
function uncertainCounts(ledger: Ledger): UncertainCounts | undefined {
  const reactivated = new Set<string>();
  const unanswered = new Map<string, OperationRecord[]>();
  for (const record of ledger.records) {
    const { action } = record;
    if (action.kind === 'resubmit') return undefined;
    if (action.kind === 'operate' && action.what === 'reactivate') {
      for (const tag of ledger.named(record)) reactivated.add(tag);
    }
    if (action.kind !== 'receive' && action.kind !== 'receiveDeferred') continue;
    if (
      !mayHaveTakenMore(ledger.scenario, record) &&
      !isBesideUpdate(ledger, record, action.from)
    ) {
      continue;
    }
    const known = unanswered.get(action.from);
    if (known === undefined) unanswered.set(action.from, [record]);
    else known.push(record);
  }
  return { reactivated, unanswered };
}

function isBesideUpdate(
  { records }: Ledger,
  { start, end }: OperationRecord,
  path: string,
): boolean {
  return records.some(
    (one) =>
      one.action.kind === 'update' &&
      one.action.entity === entityOf(path) &&
      one.start < end &&
      one.end > start,
  );
}

/** The delivery count is the number of deliveries that ended without success. */
function checkCounts(
  ledger: Ledger,
  { reactivated, unanswered }: UncertainCounts,
  copy: Copy,
): readonly Violation[] {
  const counted = copy.deliveries.filter(
    ({ delivery }) => !isDeadLetterPath(delivery.path) && entityOf(delivery.path) === copy.end,
  );
  const takers = unanswered.get(copy.end) ?? [];
  for (const one of counted) {
    const before = counted.filter(({ record }) => record.end <= one.record.start);
    const isReactivated = reactivated.has(copy.tag);
    const least = isReactivated ? 0 : before.filter((earlier) => certainlyCounts(earlier)).length;
    const taken = takers.filter(
      (record) => record.start <= one.record.end && record !== one.record,
    ).length;
    const beside = counted.filter(
      (other) =>
        other !== one && other.record.end > one.record.start && other.record.start < one.record.end,
    ).length;
    const mayCount = before.filter((earlier) => !wasReleased(ledger, copy, earlier));
    const most = mayCount.length + taken + beside;
    const { failedDeliveries } = one.delivery;
    if (failedDeliveries >= least && failedDeliveries <= most) continue;
    const text = `${copy.tag} has ${failedDeliveries} failed deliveries, expected ${least} to ${most}: ${describeDelivery(one)}`;
    const records = [...before, one].map(({ record }) => record);
    return [violation('delivery count', text, records, [copy.tag])];
  }
  return [];
}

/** Whether a delivery certainly ended by the release of its session, which is not a failed delivery. */
function wasReleased(ledger: Ledger, copy: Copy, { delivery, record }: Delivered): boolean {
  const { session } = delivery;
  const { records } = ledger;
  const isSettled = copy.settlements.some(
    ({ item }) => item.delivery.id === delivery.id && item.how !== 'renew',
  );
  const isOperatedOn = records.some(
    (other) => other.action.kind === 'operate' && ledger.named(other).has(copy.tag),
  );
  if (session === undefined || isSettled || isOperatedOn) return false;
  return records.some(
    (other) =>
      other.action.kind === 'releaseSession' &&
      other.session?.lockToken === session.lockToken &&
      other.outcome === 'done' &&
      other.start >= record.end,
  );
}

/** Whether a delivery certainly counts; in a session it depends on how the session's lock ended. */
function certainlyCounts({ delivery }: Delivered): boolean {
  return delivery.session === undefined;
}

/** No delivery before the due time, after the expiry, or beyond the maximum delivery count. */
function checkDeadlines(ledger: Ledger, copy: Copy): readonly Violation[] {
  for (const one of copy.deliveries) {
    const { delivery, record } = one;
    const { delayMs } = copy.message;
    const soonest = copy.sent.start + (delayMs ?? 0) - 2 * OFFSET_MS_MAX;
    if (delayMs !== undefined && record.end < soonest) {
      return [
        violation(
          'deadline',
          `${copy.tag} was delivered before its due time: ${describeDelivery(one)}`,
          [copy.sent, record],
          [copy.tag],
        ),
      ];
    }
    if (isDeadLetterPath(delivery.path)) continue;
    const { expiresAt } = delivery;
    // A deferred message does not expire.
    if (!delivery.isDeferred && expiresAt !== undefined && earliestClock(record) >= expiresAt) {
      return [
        violation(
          'deadline',
          `${copy.tag} was delivered after its expiry: ${describeDelivery(one)}`,
          [record],
          [copy.tag],
        ),
      ];
    }
    const entity = ledger.routes.entity(entityOf(delivery.path));
    if (entity === undefined || entity.kind === 'topic') continue;
    if (!delivery.isDeferred && delivery.failedDeliveries >= entity.maxDeliveryCount) {
      return [
        violation(
          'deadline',
          `${copy.tag} was delivered beyond the maximum delivery count: ${describeDelivery(one)}`,
          [record],
          [copy.tag],
        ),
      ];
    }
  }
  return [];
}
