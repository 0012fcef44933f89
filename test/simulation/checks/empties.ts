import type { OperationRecord } from '../clients/record.ts';
import { entityOf, isDeadLetterPath, mostAheadMs, waitOf } from '../scenario/scenario.ts';
import type { Copy } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { sessionLockedUntil } from './locks.ts';
import { type Violation, violation } from './violation.ts';

/** What another process freed less than this ago may be missed, ms; in a session only what has come due. */
const MISSED_MS_MAX = 1500;

/** Nothing is handed out only where there was nothing; and in order where order is promised. */
export function checkEmptyAnswers(ledger: Ledger): readonly Violation[] {
  return ledger.records.flatMap((record) => {
    const { action } = record;
    if (action.kind !== 'receive' || record.heard !== 'done') return [];
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
  const lockEnd = lockEndOf(ledger, record);
  // A wait that ends with the session's lock ends without a last look: nothing can be handed out any more.
  const fromOf = (copy: Copy) =>
    lockEnd <= record.end
      ? Math.min(waitEnd, lockEnd) - MISSED_MS_MAX
      : waitEnd - (isOwn(copy, record) ? 0 : missedMs(record, copy));
  const missed = ledger.copies.find(
    (copy) =>
      isIn(copy.message.sessionId, record, path) &&
      ledger.couldBeHad(copy, path, fromOf(copy), record.end),
  );
  if (missed === undefined) return [];
  const text = `operation ${record.number} over ${record.process} got nothing from ${path} though ${missed.tag} was free since ${fromOf(missed) % 1e7}`;
  return [violation('empty answer', text, [missed.sent, record], [missed.tag])];
}

/** When the lock of a receive's session may have ended, by the clock that is furthest ahead. */
function lockEndOf(ledger: Ledger, { session, end }: OperationRecord): number {
  if (session === undefined) return Number.POSITIVE_INFINITY;
  return sessionLockedUntil(ledger, session, end) - mostAheadMs(ledger.scenario);
}

function missedMs({ session }: OperationRecord, { message }: Copy): number {
  return session === undefined || message.delayMs !== undefined ? MISSED_MS_MAX : 0;
}

/** Whether all that was done to a message so far was done over the process of an operation. */
function isOwn(copy: Copy, { process, end }: OperationRecord): boolean {
  return [
    copy.sent,
    ...[...copy.deliveries, ...copy.settlements].map(({ record }) => record),
  ].every((record) => record.process === process || record.start > end);
}

/** In a session, and where one receiver works alone, nothing is passed over. */
function checkOrder(ledger: Ledger, record: OperationRecord, path: string): readonly Violation[] {
  const deliveries = record.deliveries ?? [];
  const numbers = deliveries.map(({ sequenceNumber }) => sequenceNumber);
  const isSorted = numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? number));
  if (!isSorted && isOnePartition(ledger, path)) {
    const text = `operation ${record.number} got messages out of order from ${path}: ${numbers.join(', ')}`;
    return [violation('order', text, [record])];
  }
  if (record.session === undefined && !isAlone(ledger, record, path)) return [];
  if (!isOnePartition(ledger, path) && record.session === undefined) return [];
  if (isDeadLetterPath(path)) return [];
  const last = numbers[numbers.length - 1] ?? 0n;
  const got = new Set(deliveries.map(({ tag }) => tag));
  const passedOver = ledger.copies.find(
    (copy) =>
      copy.sequenceNumber !== undefined &&
      copy.sequenceNumber < last &&
      copy.end === entityOf(path) &&
      !got.has(copy.tag) &&
      isIn(copy.message.sessionId, record, path) &&
      ledger.couldBeHad(copy, path, record.start - missedMs(record, copy), record.end),
  );
  if (passedOver === undefined) return [];
  const text = `operation ${record.number} over ${record.process} passed over ${passedOver.tag} in ${path}`;
  return [violation('order', text, [passedOver.sent, record], [passedOver.tag])];
}

function isIn(sessionId: string | undefined, { session }: OperationRecord, path: string): boolean {
  return session === undefined || isDeadLetterPath(path) || session.sessionId === sessionId;
}

function isOnePartition(ledger: Ledger, path: string): boolean {
  const entity = ledger.routes.entity(entityOf(path));
  const keeper = entity?.kind === 'subscription' ? ledger.routes.entity(entity.topic) : entity;
  return keeper?.kind !== 'subscription' && keeper?.partitioned === false;
}

/** Whether nobody else ever received from a path. */
function isAlone(ledger: Ledger, { client }: OperationRecord, path: string): boolean {
  return !ledger.records.some(
    (other) =>
      other.action.kind === 'receive' && other.action.from === path && other.client !== client,
  );
}
