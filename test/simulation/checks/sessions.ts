import type { OperationRecord, SessionGrant } from '../clients/record.ts';
import { mostAheadMs } from '../scenario/scenario.ts';
import type { Ledger } from './ledger.ts';
import { sessionLockedUntil } from './locks.ts';
import { type Violation, violation } from './violation.ts';

interface Granted {
  readonly grant: SessionGrant;
  readonly record: OperationRecord;
}

/** A session has at most one holder at a time, and its state is the one that was set last. */
export function checkSessions(ledger: Ledger): readonly Violation[] {
  const grants = ledger.records.flatMap((record): Granted[] =>
    record.action.kind === 'accept' && record.granted !== undefined
      ? [{ grant: record.granted, record }]
      : [],
  );
  return [...checkHolders(ledger, grants), ...checkLost(ledger, grants), ...checkStates(ledger)];
}

function checkHolders(ledger: Ledger, grants: readonly Granted[]): readonly Violation[] {
  for (const first of grants) {
    for (const second of grants) {
      if (!isSameSession(first.grant, second.grant) || second === first) continue;
      if (second.record.start < first.record.end) continue;
      const until = sessionLockedUntil(ledger, first.grant, second.record.start);
      // By the fastest clock the lock may have ended and the empty session been removed.
      if (second.record.end + mostAheadMs(ledger.scenario) >= until) continue;
      if (mayHaveEnded(ledger, first, second.record)) continue;
      const text = `session ${first.grant.sessionId} of ${first.grant.path} was granted to operation ${second.record.number} from ${second.record.start % 1e7} to ${second.record.end % 1e7} while operation ${first.record.number} held it until ${until % 1e7}`;
      return [violation('session', text, [first.record, second.record])];
    }
  }
  return [];
}

/** A lock is lost only if it expired or an operation ended it. */
function checkLost(ledger: Ledger, grants: readonly Granted[]): readonly Violation[] {
  for (const record of ledger.records) {
    const { session } = record;
    if (session === undefined || record.code !== 'SessionLockLost') continue;
    // A settlement may return this code because its message does not exist; checkSettlements judges it.
    if (record.settled !== undefined) continue;
    const granted = grants.find(({ grant }) => grant.lockToken === session.lockToken);
    if (granted === undefined) continue;
    const until = sessionLockedUntil(ledger, granted.grant, record.start);
    // By the fastest clock it may have expired.
    if (record.end + mostAheadMs(ledger.scenario) >= until) continue;
    if (mayHaveEnded(ledger, granted, record)) continue;
    const text = `operation ${record.number} got SessionLockLost for session ${session.sessionId} of ${session.path}, whose lock had ${until - record.endClock} ms left`;
    return [violation('session', text, [granted.record, record])];
  }
  return [];
}

/** Whether the holder, an administrator, or a receive that failed may have ended the lock. */
function mayHaveEnded(
  ledger: Ledger,
  { grant, record: { end: since } }: Granted,
  { end, number }: OperationRecord,
): boolean {
  return ledger.records.some(({ action, outcome, start, session, granted, number: own }) => {
    if (start > end || own === number) return false;
    if (action.kind === 'update' || action.kind === 'recreate') return action.entity === grant.path;
    // Another client accepted it in between; that lock is checked on its own.
    if (
      action.kind === 'accept' &&
      granted !== undefined &&
      granted.lockToken !== grant.lockToken
    ) {
      return isSameSession(granted, grant) && start >= since;
    }
    if (action.kind === 'purge') return action.from === grant.path && outcome !== 'refused';
    if (session?.lockToken !== grant.lockToken) return false;
    if (action.kind === 'releaseSession') return outcome !== 'refused';
    return (action.kind === 'receive' || action.kind === 'receiveDeferred') && outcome !== 'done';
  });
}

function checkStates(ledger: Ledger): readonly Violation[] {
  for (const record of ledger.records) {
    if (record.action.kind !== 'readState' || record.outcome !== 'done') continue;
    const { session } = record;
    if (session === undefined) continue;
    const sets = ledger.records.filter(
      (one) =>
        one.action.kind === 'setState' &&
        one.session !== undefined &&
        isSameSession(one.session, session),
    );
    const cleared = ledger.records.some(
      ({ action, start }) =>
        action.kind === 'recreate' && action.entity === session.path && start <= record.end,
    );
    if (cleared) continue;
    const done = sets.filter(({ outcome, end }) => outcome === 'done' && end <= record.start);
    const latest = done.reduce<OperationRecord | undefined>(
      (last, one) => (last === undefined || one.start >= last.end ? one : last),
      undefined,
    );
    const possible = new Set(
      sets
        .filter((one) => one.start <= record.end && one.outcome !== 'refused')
        .filter(
          (one) => latest === undefined || one.end >= latest.start || one.outcome === 'unknown',
        )
        .map(({ action }) => (action.kind === 'setState' ? action.state : '')),
    );
    if (record.state === undefined ? latest === undefined : possible.has(record.state)) continue;
    const text = `operation ${record.number} read the state ${record.state} of session ${session.sessionId}, which was ${[...possible].join(' or ')}`;
    return [violation('session', text, [...(latest === undefined ? [] : [latest]), record])];
  }
  return [];
}

function isSameSession(a: SessionGrant, b: SessionGrant): boolean {
  return a.path === b.path && a.sessionId === b.sessionId;
}
