import type { OperationRecord } from '../clients/record.ts';
import { type Scenario, waitOf } from '../scenario/scenario.ts';

/** Codes of refused receives that may have locked messages. */
const BUSY_CODES = new Set(['ServiceBusy', 'SessionLockLost', 'MessagingEntityNotFound']);

/** The shortest lock duration in a scenario, ms. */
const LOCK_MS_LEAST = 5000;

/** Whether a receive may have locked or removed messages that it did not return. */
export function mayHaveTakenMore(scenario: Scenario, record: OperationRecord): boolean {
  const { outcome, action, deliveries = [], hadFaults } = record;
  if (outcome === 'unknown' || outcome === 'failed') return true;
  if (outcome === 'refused') return BUSY_CODES.has(record.code ?? '') || hadFaults;
  if (action.kind !== 'receive') return false;
  const tookMs = record.end - record.start - waitOf(scenario, action.waitMs);
  // It may have lost its locks before it could return the messages.
  if (tookMs > LOCK_MS_LEAST / 2 && (hadFaults || deliveries.length < action.max)) return true;
  if (!hadFaults) return false;
  // A receive-and-delete goes on to other messages after a deletion without an answer.
  return action.mode === 'receiveAndDelete' || deliveries.length < action.max;
}

/**
 * Whether a receive-and-delete may have deleted messages that it did not return. If a deletion may have taken
 * effect, it neither returns an empty answer nor is refused.
 */
export function mayHaveRemovedMore(scenario: Scenario, record: OperationRecord): boolean {
  const { outcome, deliveries = [] } = record;
  if (outcome === 'refused' || (outcome === 'done' && deliveries.length === 0)) return false;
  return mayHaveTakenMore(scenario, record);
}
