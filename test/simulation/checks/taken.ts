import type { OperationRecord } from '../clients/record.ts';
import { LATE_MS_MAX } from '../machines/network.ts';
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
  if (mayPutBack(record) && mayFailAfterwards(scenario, record)) return true;
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

/** How long a process takes at most to put messages of an aborted receive back, ms. */
const PUT_BACK_MS_MAX = 1500;

/**
 * Until when, epoch ms, a receive may hold messages that it neither returned nor lost, because its client aborted it
 * and its process puts them back after the answer. Undefined = it holds none.
 */
export function heldUntil({ network }: Scenario, record: OperationRecord): number | undefined {
  if (!mayPutBack(record)) return undefined;
  return record.end + (network.slow > 0 ? LATE_MS_MAX : PUT_BACK_MS_MAX);
}

function mayPutBack({ action, start, end }: OperationRecord): boolean {
  return (
    action.kind === 'receive' && end - start >= (action.abortAfterMs ?? Number.POSITIVE_INFINITY)
  );
}

/** Whether what the process of an operation does after the answer may fail. */
function mayFailAfterwards({ network, faults }: Scenario, { process }: OperationRecord): boolean {
  const { slow, ...failures } = network;
  return (
    Object.values(failures).some((rate) => rate > 0) ||
    faults.some((fault) => fault.process === process && fault.kind !== 'clock')
  );
}
