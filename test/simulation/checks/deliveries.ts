import type { OperationRecord } from '../clients/record.ts';
import { CLOCK_OFF_MS_MAX } from '../scenario/draw.ts';
import { entityOf, isDeadLetterPath } from '../scenario/scenario.ts';
import { earliestClock, latestClock } from './clock-readings.ts';
import type { Copy, Delivered } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { describeDelivery, endsLock, lockedUntilAt } from './locks.ts';
import { mayHaveTakenMore } from './taken.ts';
import { type Violation, violation } from './violation.ts';

/** What is promised of each delivery: one holder at a time, exact counts, no return, deadlines kept. */
export function checkDeliveries(ledger: Ledger): readonly Violation[] {
  const unsure = unsureCounts(ledger);
  return ledger.copies.flatMap((copy) => [
    ...checkTwoLocks(ledger, copy),
    ...checkReturned(copy),
    ...(unsure === undefined ? [] : checkCounts(ledger, unsure, copy)),
    ...checkDeadlines(ledger, copy),
  ]);
}

/** While somebody's lock is live, nobody else gets the message. */
function checkTwoLocks(ledger: Ledger, copy: Copy): readonly Violation[] {
  const found: Violation[] = [];
  for (const first of copy.deliveries) {
    const { delivery } = first;
    if (delivery.lockToken === undefined) continue;
    for (const second of copy.deliveries) {
      if (second === first || second.delivery.lockToken === delivery.lockToken) continue;
      if (second.record.start < first.record.end || second.delivery.path !== delivery.path)
        continue;
      // Whether the session had another holder by then, its own check tells.
      if (second.delivery.session?.lockToken !== delivery.session?.lockToken) continue;
      const until = lockedUntilAt(ledger, copy, delivery, second.record.start);
      if (latestClock(second.record) >= until) continue;
      if (endsLock(ledger, copy, delivery, second.record)) continue;
      if (copy.deliveries.some((one) => isBetween(one, first, second))) continue;
      const text = `${copy.tag} was handed out while somebody held it: ${describeDelivery(first)}, ${describeDelivery(second)}`;
      found.push(violation('two locks', text, [first.record, second.record], [copy.tag]));
    }
  }
  return found.slice(0, 1);
}

/** Whether a delivery came between two others, by its count: then it is judged beside each of them. */
function isBetween({ delivery }: Delivered, first: Delivered, second: Delivered): boolean {
  const { path, failedDeliveries } = delivery;
  const isLater = failedDeliveries > first.delivery.failedDeliveries;
  return (
    path === first.delivery.path && isLater && failedDeliveries < second.delivery.failedDeliveries
  );
}

/** What was completed, or removed as it was handed out, never comes again. */
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
    const text = `${copy.tag} was handed out again after it was completed: ${describeDelivery(again)}`;
    return [violation('returned', text, [record, again.record], [copy.tag])];
  }
  return [];
}

/** Why a count may be other than the deliveries that somebody heard of. */
interface UnsureCounts {
  /** Messages that somebody made active again, which gives them one delivery more, by tag. */
  readonly reactivated: ReadonlySet<string>;
  /**
   * By path the receives that may have taken messages which nobody heard of: also those whose lock an update
   * of the entity ended before they had read the bodies.
   */
  readonly unheard: ReadonlyMap<string, readonly OperationRecord[]>;
}

/** Undefined = nothing can be said: messages that are sent again begin anew. */
function unsureCounts(ledger: Ledger): UnsureCounts | undefined {
  const reactivated = new Set<string>();
  const unheard = new Map<string, OperationRecord[]>();
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
    const known = unheard.get(action.from);
    if (known === undefined) unheard.set(action.from, [record]);
    else known.push(record);
  }
  return { reactivated, unheard };
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

/** Each delivery that ended without success is counted once. */
function checkCounts(
  ledger: Ledger,
  { reactivated, unheard }: UnsureCounts,
  copy: Copy,
): readonly Violation[] {
  const counted = copy.deliveries.filter(
    ({ delivery }) => !isDeadLetterPath(delivery.path) && entityOf(delivery.path) === copy.end,
  );
  const takers = unheard.get(copy.end) ?? [];
  for (const one of counted) {
    const before = counted.filter(({ record }) => record.end <= one.record.start);
    const isReactivated = reactivated.has(copy.tag);
    const least = isReactivated ? 0 : before.filter((earlier) => surelyCounts(earlier)).length;
    const taken = takers.filter(
      (record) => record.start <= one.record.end && record !== one.record,
    ).length;
    const beside = counted.filter(
      (other) =>
        other !== one && other.record.end > one.record.start && other.record.start < one.record.end,
    ).length;
    const mayCount = before.filter((earlier) => !wasGivenBack(ledger, copy, earlier));
    const most = mayCount.length + taken + beside;
    const { failedDeliveries } = one.delivery;
    if (failedDeliveries >= least && failedDeliveries <= most) continue;
    const text = `${copy.tag} came with ${failedDeliveries} failed deliveries; between ${least} and ${most} were: ${describeDelivery(one)}`;
    const records = [...before, one].map(({ record }) => record);
    return [violation('delivery count', text, records, [copy.tag])];
  }
  return [];
}

/** Whether a delivery surely ended because its holder gave the session back, which is no failure. */
function wasGivenBack(ledger: Ledger, copy: Copy, { delivery, record }: Delivered): boolean {
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
      other.heard === 'done' &&
      other.start >= record.end,
  );
}

/** In a session it depends on how the session was given back. */
function surelyCounts({ delivery }: Delivered): boolean {
  return delivery.session === undefined;
}

/** Nothing comes before its time, nor after its time to live, nor after its last delivery. */
function checkDeadlines(ledger: Ledger, copy: Copy): readonly Violation[] {
  for (const one of copy.deliveries) {
    const { delivery, record } = one;
    const { delayMs } = copy.message;
    const soonest = copy.sent.start + (delayMs ?? 0) - 2 * CLOCK_OFF_MS_MAX;
    if (delayMs !== undefined && record.end < soonest) {
      return [
        violation(
          'deadline',
          `${copy.tag} came before its time: ${describeDelivery(one)}`,
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
          `${copy.tag} came after its time to live: ${describeDelivery(one)}`,
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
          `${copy.tag} came after its last delivery: ${describeDelivery(one)}`,
          [record],
          [copy.tag],
        ),
      ];
    }
  }
  return [];
}
