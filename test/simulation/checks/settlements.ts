import type { OperationRecord } from '../clients/record.ts';
import { mostAheadMs } from '../scenario/scenario.ts';
import { earliestClock } from './clock-readings.ts';
import type { Copy, Settled } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { endsLock, lockedUntilAt, lockedUntilMost } from './locks.ts';
import { type Violation, violation } from './violation.ts';

/** The answer to each settlement is correct, or says that the outcome is unknown. */
export function checkSettlements(ledger: Ledger): readonly Violation[] {
  return ledger.copies.flatMap((copy) =>
    copy.settlements.flatMap((settled) => {
      const text = wrongAnswer(ledger, copy, settled);
      if (text === undefined) return [];
      const { item, record } = settled;
      const named = `${item.how} of ${copy.tag} in operation ${record.number} ${text}`;
      const deliveries = copy.deliveries.map((one) => one.record);
      return [violation('settlement', named, [...deliveries, record], [copy.tag])];
    }),
  );
}

function wrongAnswer(ledger: Ledger, copy: Copy, settled: Settled): string | undefined {
  const { item } = settled;
  if (item.outcome === 'done') return wronglyDone(ledger, copy, settled);
  const isLockLost = item.code === 'MessageLockLost' || item.code === 'SessionLockLost';
  return item.outcome === 'refused' && isLockLost ? wronglyLost(ledger, copy, settled) : undefined;
}

/** A settlement succeeds only under a live lock, and once. */
function wronglyDone(ledger: Ledger, copy: Copy, { item, record }: Settled): string | undefined {
  // After a lost answer, an abandon succeeds if the message is unlocked, whatever unlocked it.
  if (item.how === 'abandon' && record.hadFaults) return undefined;
  const { delivery } = item;
  const earlier = copy.settlements.find(
    (one) =>
      one.item.delivery.id === delivery.id &&
      one.record.end <= record.start &&
      one.item.outcome === 'done' &&
      one.item.how !== 'renew',
  );
  if (earlier !== undefined)
    return `was done after operation ${earlier.record.number} had settled it`;
  const taken = copy.deliveries.find(
    (one) =>
      one.delivery.lockToken !== delivery.lockToken &&
      one.delivery.path === delivery.path &&
      one.delivery.sequenceNumber === delivery.sequenceNumber &&
      one.record.end <= record.start &&
      isLater(copy, one.delivery.id, delivery.id),
  );
  if (taken !== undefined)
    return `was done after operation ${taken.record.number} received the message`;
  if (delivery.session !== undefined && wasReleased(ledger, delivery.session.lockToken, record))
    return 'was done after its session was released';
  const until =
    delivery.session === undefined
      ? lockedUntilMost(copy, delivery)
      : sessionUntilMost(ledger, delivery.session.lockToken);
  const clock = earliestClock(record);
  return clock >= until ? `was done ${clock - until} ms after the lock had ended` : undefined;
}

function wasReleased(ledger: Ledger, lockToken: string, { start }: OperationRecord): boolean {
  const until = sessionUntilLeast(ledger, lockToken);
  return ledger.records.some(
    ({ action, session, outcome, end, endClock }) =>
      action.kind === 'releaseSession' &&
      session?.lockToken === lockToken &&
      outcome === 'done' &&
      end <= start &&
      // By its process's clock the lock may have expired; the release then changed nothing, and others see it live.
      endClock < until,
  );
}

/** The earliest possible expiry of a session lock, by the answers. */
function sessionUntilLeast({ records }: Ledger, lockToken: string): number {
  const ends = records.flatMap(({ granted }) =>
    granted?.lockToken === lockToken ? [granted.lockedUntil] : [],
  );
  return Math.max(...ends);
}

/** The latest possible expiry of a session lock, which counts renewals without an answer. */
function sessionUntilMost(ledger: Ledger, lockToken: string): number {
  const ends = ledger.records.flatMap(({ action, session, outcome, granted }) => {
    if (granted?.lockToken === lockToken) return [granted.lockedUntil];
    const isUnanswered = action.kind === 'renewSession' && outcome !== 'refused';
    return isUnanswered && session?.lockToken === lockToken ? [Number.POSITIVE_INFINITY] : [];
  });
  return Math.max(...ends);
}

/** Whether a delivery certainly came after another one. */
function isLater(copy: Copy, id: number, than: number): boolean {
  const one = copy.deliveries.find(({ delivery }) => delivery.id === id);
  const other = copy.deliveries.find(({ delivery }) => delivery.id === than);
  return one !== undefined && other !== undefined && one.record.start >= other.record.end;
}

/** A lock is lost only if it expired or an operation ended it. */
function wronglyLost(ledger: Ledger, copy: Copy, { item, record }: Settled): string | undefined {
  const { delivery } = item;
  const until = lockedUntilAt(ledger, copy, delivery, record.start);
  // By the fastest clock it may have expired.
  if (record.end + mostAheadMs(ledger.scenario) >= until) return undefined;
  if (endsLock(ledger, copy, delivery, record)) return undefined;
  // The refusal of a transaction may concern another of its operations.
  if (
    record.action.kind === 'transact' &&
    record.settled !== undefined &&
    record.settled.length > 1
  )
    return undefined;
  return `was refused although the lock was live for ${until - record.endClock} ms more`;
}
