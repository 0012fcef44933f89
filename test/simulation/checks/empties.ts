import type { OperationRecord } from '../clients/record.ts';
import { entityOf, isDeadLetterPath, mostAheadMs, waitOf } from '../scenario/scenario.ts';
import type { Copy } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { sessionLockedUntil } from './locks.ts';
import { type Violation, violation } from './violation.ts';

/** A receive may miss what another process freed less than this ago, ms; in a session only due messages. */
const MISSED_MS_MAX = 1500;

/** How many blocks of the front a receive reads again at a time. */
const PIECE_BLOCKS = 8;

/** A receive returns no messages only if there are none, and keeps their order where order is promised. */
export function checkEmptyAnswers(ledger: Ledger): readonly Violation[] {
  return ledger.records.flatMap((record) => {
    const { action } = record;
    if (action.kind !== 'receive' || record.outcome !== 'done') return [];
    if (action.abortAfterMs !== undefined) return [];
    return record.deliveries?.length === 0
      ? checkEmpty(ledger, record, action.from, action.waitMs)
      : checkOrder(ledger, record, action.from);
  });
}

function checkEmpty(
  ledger: Ledger,
  record: OperationRecord,
  path: string,
  waitMs: number,
): readonly Violation[] {
  const waitEnd = Math.min(record.start + waitOf(ledger.scenario, waitMs), record.end);
  const lockEnd = lockEndOf(ledger, record, path);
  // The last look is at the end of the wait: it must see what is available by then, or for MISSED_MS_MAX where it may
  // miss it. A wait that the end of the session's lock cuts short does not look again, because it could not lock a
  // message: it must see only what was available MISSED_MS_MAX before that end.
  const mustBeSeenSince = (copy: Copy) =>
    lockEnd <= record.end
      ? Math.min(waitEnd, lockEnd) - MISSED_MS_MAX
      : waitEnd - (isOwn(copy, record) ? 0 : missedMs(record, copy));
  const missed = ledger.copies.find(
    (copy) =>
      isIn(copy.message.sessionId, record, path) &&
      ledger.wasAvailable(copy, path, mustBeSeenSince(copy), record.end),
  );
  if (missed === undefined) return [];
  const text = `operation ${record.number} over ${record.process} received nothing from ${path} though ${missed.tag} was available since ${mustBeSeenSince(missed) % 1e7}`;
  return [violation('empty answer', text, [missed.sent, record], [missed.tag])];
}

/**
 * The earliest instant at which the lock of a receive's session may have ended, by the fastest clock. An update of the
 * entity ends it, too, of which a process may hear a little late.
 */
function lockEndOf(ledger: Ledger, { session, start, end }: OperationRecord, path: string): number {
  if (session === undefined) return Number.POSITIVE_INFINITY;
  const updates = ledger.records.filter(
    ({ action, outcome, ...update }) =>
      action.kind === 'update' &&
      action.entity === entityOf(path) &&
      outcome !== 'refused' &&
      update.end >= start - MISSED_MS_MAX &&
      update.start <= end,
  );
  return Math.min(
    sessionLockedUntil(ledger, session, end) - mostAheadMs(ledger.scenario),
    ...updates.map((update) => update.start),
  );
}

function missedMs({ session }: OperationRecord, { message }: Copy): number {
  return session === undefined || message.delayMs !== undefined ? MISSED_MS_MAX : 0;
}

/** Whether all operations on a message so far used the process of this operation. */
function isOwn(copy: Copy, { process, end }: OperationRecord): boolean {
  return [
    copy.sent,
    ...[...copy.deliveries, ...copy.settlements].map(({ record }) => record),
  ].every((record) => record.process === process || record.start > end);
}

/** A receive in a session, or by the only receiver of a path, skips no available message. */
function checkOrder(ledger: Ledger, record: OperationRecord, path: string): readonly Violation[] {
  const deliveries = record.deliveries ?? [];
  const numbers = deliveries.map(({ sequenceNumber }) => sequenceNumber);
  const isSorted = numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? number));
  if (!isSorted && isOnePartition(ledger, path)) {
    const text = `operation ${record.number} received messages out of order from ${path}: ${numbers.join(', ')}`;
    return [violation('order', text, [record])];
  }
  if (record.session === undefined && !isAlone(ledger, record, path)) return [];
  if (!isOnePartition(ledger, path) && record.session === undefined) return [];
  if (isDeadLetterPath(path)) return [];
  const last = numbers[numbers.length - 1] ?? 0n;
  const got = new Set(deliveries.map(({ tag }) => tag));
  const skipped = ledger.copies.find(
    (copy) =>
      copy.sequenceNumber !== undefined &&
      copy.sequenceNumber < last &&
      copy.end === entityOf(path) &&
      !got.has(copy.tag) &&
      isIn(copy.message.sessionId, record, path) &&
      !mayNotBeReadYet(ledger, record, copy) &&
      ledger.wasAvailable(copy, path, record.start - missedMs(record, copy), record.end),
  );
  if (skipped === undefined) return [];
  const text = `operation ${record.number} over ${record.process} skipped ${skipped.tag} in ${path}`;
  return [violation('order', text, [skipped.sent, record], [skipped.tag])];
}

/**
 * Whether a receive that returns messages may have left out one that another process put back: it reads the front
 * again in pieces of a few blocks, of which each holds a message at least (docs/architecture/hints.md).
 */
function mayNotBeReadYet(ledger: Ledger, record: OperationRecord, copy: Copy): boolean {
  if (record.session !== undefined || isOwn(copy, record)) return false;
  const inFront = ledger.copies.filter(
    (other) =>
      other.end === copy.end &&
      (other.sequenceNumber ?? 0n) < (copy.sequenceNumber ?? 0n) &&
      !wasRemovedBefore(other, record),
  );
  return inFront.length >= PIECE_BLOCKS;
}

function wasRemovedBefore({ settlements, deliveries }: Copy, { start }: OperationRecord): boolean {
  return (
    settlements.some(
      ({ item, record }) =>
        item.how === 'complete' && item.outcome === 'done' && record.end <= start,
    ) ||
    deliveries.some(
      ({ delivery, record }) => delivery.lockToken === undefined && record.end <= start,
    )
  );
}

function isIn(sessionId: string | undefined, { session }: OperationRecord, path: string): boolean {
  return session === undefined || isDeadLetterPath(path) || session.sessionId === sessionId;
}

function isOnePartition(ledger: Ledger, path: string): boolean {
  const entity = ledger.routes.entity(entityOf(path));
  const owner = entity?.kind === 'subscription' ? ledger.routes.entity(entity.topic) : entity;
  return owner?.kind !== 'subscription' && owner?.partitioned === false;
}

/** Whether no other client ever received from a path. */
function isAlone(ledger: Ledger, { client }: OperationRecord, path: string): boolean {
  return !ledger.records.some(
    (other) =>
      other.action.kind === 'receive' && other.action.from === path && other.client !== client,
  );
}
