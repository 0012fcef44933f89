import type { OperationRecord } from '../clients/record.ts';
import { type Scenario, waitOf } from '../scenario/scenario.ts';

/** Codes of refusals behind which something may have been locked, though nothing was handed out. */
const BUSY_CODES = new Set(['ServiceBusy', 'SessionLockLost', 'MessagingEntityNotFound']);

/** No lock of a scenario is shorter than this, ms. */
const LOCK_MS_LEAST = 5000;

/** Whether a receive may have locked, or removed, messages that it did not hand out. */
export function mayHaveTakenMore(scenario: Scenario, record: OperationRecord): boolean {
  const { heard, action, deliveries = [], wentWrong } = record;
  if (heard === 'unknown' || heard === 'failed') return true;
  if (heard === 'refused') return BUSY_CODES.has(record.code ?? '') || wentWrong;
  if (action.kind !== 'receive') return false;
  const tookMs = record.end - record.start - waitOf(scenario, action.waitMs);
  // What it locked may have been lost to others before it could be handed out.
  if (tookMs > LOCK_MS_LEAST / 2 && (wentWrong || deliveries.length < action.max)) return true;
  if (!wentWrong) return false;
  // One that removes goes on to other messages after a removal of which nothing was heard.
  return action.mode === 'receiveAndDelete' || deliveries.length < action.max;
}

/**
 * Whether one that removes may have removed messages that it did not hand out. It never says that there was
 * nothing, nor that it was refused, where a removal may have been carried out.
 */
export function mayHaveRemovedMore(scenario: Scenario, record: OperationRecord): boolean {
  const { heard, deliveries = [] } = record;
  if (heard === 'refused' || (heard === 'done' && deliveries.length === 0)) return false;
  return mayHaveTakenMore(scenario, record);
}
