import type { OperationRecord } from '../clients/record.ts';

/** Codes of refusals behind which something may have been locked, though nothing was handed out. */
const BUSY_CODES = new Set(['ServiceBusy', 'SessionLockLost', 'MessagingEntityNotFound']);

/** Whether a receive may have locked, or removed, messages that it did not hand out. */
export function mayHaveTakenMore(record: OperationRecord): boolean {
  const { heard, action, deliveries = [], wentWrong } = record;
  if (heard === 'unknown' || heard === 'failed') return true;
  if (heard === 'refused') return BUSY_CODES.has(record.code ?? '') || wentWrong;
  if (!wentWrong || action.kind !== 'receive') return false;
  // One that removes goes on to other messages after a removal of which nothing was heard.
  return action.mode === 'receiveAndDelete' || deliveries.length < action.max;
}
