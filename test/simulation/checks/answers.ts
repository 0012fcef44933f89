import type { OperationRecord } from '../clients/record.ts';
import { type Action, entityOf } from '../scenario/scenario.ts';
import type { Ledger } from './ledger.ts';
import { type Violation, violation } from './violation.ts';

/** The codes with which an operation on an entity that is there may be refused. */
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

/** Every answer is one that the operation can have; no process ever fails with something else. */
export function checkAnswers(ledger: Ledger): readonly Violation[] {
  return ledger.records.flatMap((record) => {
    if (record.heard === 'failed') {
      return [violation('answer', `${record.action.kind} failed: ${record.text}`, [record])];
    }
    const codes = [
      ...(record.heard === 'refused' ? [record.code ?? ''] : []),
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
  // What is being deleted, or has been and could not be created again.
  if (code !== 'MessagingEntityNotFound') return false;
  return ledger.records.some(
    ({ action, start }) =>
      action.kind === 'recreate' && start <= record.end && concerns(ledger, record, action.entity),
  );
}

/** A receive loses so many races before it gives up. */
const RACES = 6;

/**
 * Whether an operation may be told that the service is busy: where a request of its process went wrong, perhaps one
 * that another operation had begun, since reads are shared; where a receive met so many others that it lost every
 * race; and where messages came beside others of which they may be duplicates.
 */
function mayBeBusy(ledger: Ledger, record: OperationRecord): boolean {
  const { action, wentWrong, process, start, end } = record;
  if (wentWrong) return true;
  const beside = ledger.records.filter(
    (other) => other !== record && other.start < end && other.end > start,
  );
  const detecting = detectingOf(ledger, record);
  const isMet = beside.some(
    (other) =>
      (other.process === process && other.wentWrong && other.start < start) ||
      detectingOf(ledger, other).some((path) => detecting.includes(path)),
  );
  if (isMet) return true;
  if (action.kind !== 'receive') return false;
  const changes = beside.map(({ heard, deliveries = [], settled = [], ...other }) => {
    const isCounted = heard === 'done' && !other.wentWrong && COUNTED.has(other.action.kind);
    return isCounted ? deliveries.length + settled.length : Number.POSITIVE_INFINITY;
  });
  return changes.reduce((sum, count) => sum + count, 0) >= RACES;
}

/** Operations of which it is known how many messages they changed. */
const COUNTED: ReadonlySet<Action['kind']> = new Set([
  'send',
  'receive',
  'receiveDeferred',
  'settle',
  'renew',
  'accept',
  'peek',
]);

/** The entities that an operation sends to and that look for duplicates. */
function detectingOf({ routes }: Ledger, { action }: OperationRecord): readonly string[] {
  const sends = action.kind === 'send' ? [action] : action.kind === 'transact' ? action.sends : [];
  return sends.map(({ to }) => to).filter((to) => routes.detectionMs(to) !== undefined);
}

function concerns(ledger: Ledger, { action }: OperationRecord, entity: string): boolean {
  const named = JSON.stringify(action).includes(`"${entityOf(entity)}`);
  return named || ledger.routes.entity(entity)?.kind === 'subscription';
}
