import type { OperationRecord } from '../clients/record.ts';
import { type Action, entityOf } from '../scenario/scenario.ts';
import type { Ledger } from './ledger.ts';
import { type Violation, violation } from './violation.ts';

/** The error codes that each operation may return while its entity exists. */
const CODES: Readonly<Record<Action['kind'], readonly string[]>> = {
  send: [],
  cancel: ['MessageNotFound'],
  receive: ['SessionLockLost'],
  receiveDeferred: ['MessageNotFound', 'SessionLockLost'],
  peek: [],
  settle: ['MessageLockLost', 'SessionLockLost'],
  renew: ['MessageLockLost'],
  accept: ['SessionCannotBeLocked'],
  renewSession: ['SessionLockLost'],
  releaseSession: ['SessionLockLost'],
  setState: ['SessionLockLost'],
  readState: ['SessionLockLost'],
  listSessions: [],
  // Settlements and sends to partitioned entities may name different partitions.
  transact: ['MessageLockLost', 'SessionLockLost', 'TransactionAborted', 'InvalidOperation'],
  operate: [],
  deleteMessages: ['InvalidOperation'],
  resubmit: [],
  purge: ['ConflictInProgress'],
  update: ['ConflictInProgress'],
  recreate: ['ConflictInProgress', 'MessagingEntityAlreadyExists'],
  sweep: [],
};

/** Each answer is one that its operation may return, and no process fails with any other error. */
export function checkAnswers(ledger: Ledger): readonly Violation[] {
  return ledger.records.flatMap((record) => {
    if (record.outcome === 'failed') {
      return [violation('answer', `${record.action.kind} failed: ${record.text}`, [record])];
    }
    const codes = [
      ...(record.outcome === 'refused' ? [record.code ?? ''] : []),
      ...(record.settled ?? []).flatMap(({ outcome, code }) =>
        outcome === 'refused' && code !== undefined ? [code] : [],
      ),
    ];
    return codes
      .filter((code) => !isAllowed(ledger, record, code))
      .slice(0, 1)
      .map((code) =>
        violation('answer', `${record.action.kind} was refused with ${code}: ${record.text}`, [
          record,
        ]),
      );
  });
}

function isAllowed(ledger: Ledger, record: OperationRecord, code: string): boolean {
  if (code === 'ServiceBusy') return mayBeBusy(ledger, record);
  if (CODES[record.action.kind].includes(code)) return true;
  // The entity is being recreated, or its recreation failed after the deletion.
  if (code !== 'MessagingEntityNotFound') return false;
  return ledger.records.some(
    ({ action, start }) =>
      action.kind === 'recreate' && start <= record.end && concerns(ledger, record, action.entity),
  );
}

/** A receive returns ServiceBusy after it lost this many races. */
const RACES_MAX = 6;

/**
 * Whether an operation may return ServiceBusy: if a database request of its process failed (also one that
 * another operation started, because reads are shared), if a receive may have lost RACES_MAX races, or if a
 * concurrent send to an entity with duplicate detection may contain the same messages.
 */
function mayBeBusy(ledger: Ledger, record: OperationRecord): boolean {
  const { action, hadFaults, process, start, end } = record;
  if (hadFaults) return true;
  const beside = ledger.records.filter(
    (other) => other !== record && other.start < end && other.end > start,
  );
  const detecting = detectingOf(ledger, record);
  const mayConflict = beside.some(
    (other) =>
      (other.process === process && other.hadFaults && other.start < start) ||
      detectingOf(ledger, other).some((path) => detecting.includes(path)),
  );
  if (mayConflict) return true;
  if (action.kind !== 'receive') return false;
  const changes = beside.map(({ outcome, deliveries = [], settled = [], ...other }) => {
    const isCounted = outcome === 'done' && !other.hadFaults && COUNTED.has(other.action.kind);
    return isCounted ? deliveries.length + settled.length : Number.POSITIVE_INFINITY;
  });
  return changes.reduce((sum, count) => sum + count, 0) >= RACES_MAX;
}

/** Operations whose record says how many messages they changed. */
const COUNTED: ReadonlySet<Action['kind']> = new Set([
  'send',
  'receive',
  'receiveDeferred',
  'settle',
  'renew',
  'accept',
  'peek',
]);

/** The entities with duplicate detection that an operation sends to. */
function detectingOf({ routes }: Ledger, { action }: OperationRecord): readonly string[] {
  const sends = action.kind === 'send' ? [action] : action.kind === 'transact' ? action.sends : [];
  return sends.map(({ to }) => to).filter((to) => routes.detectionMs(to) !== undefined);
}

function concerns(ledger: Ledger, { action }: OperationRecord, entity: string): boolean {
  const named = JSON.stringify(action).includes(`"${entityOf(entity)}`);
  return named || ledger.routes.entity(entity)?.kind === 'subscription';
}
