import type { Settlement, SettlementAction } from '../broker/broker.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { present } from '../domain/present.ts';
import type { Batch, Failure, Reply } from './ports.ts';
import { PUSH } from './push-limits.ts';

/** How a batch is settled. */
export interface SettledBatch {
  readonly settlements: readonly Settlement[];
  /** How long messages wait that come again, ms. Absent = none does. */
  readonly delays?: readonly number[];
}

/** Decides how the messages of a batch are settled after the reply of its target (docs/push.md). */
export function settlementsAfter(
  batch: Batch,
  reply: Exclude<Reply, { kind: 'tooLarge' }>,
): SettledBatch {
  if (reply.kind === 'unavailable') return { settlements: untried(batch.messages) };
  const failures =
    reply.kind === 'failed'
      ? undefined
      : new Map(reply.failures.map((failure) => [failure.sequenceNumber, failure.action]));
  const delays: number[] = [];
  const settlements = batch.messages.map((message) => {
    const failed: Failure['action'] | undefined =
      failures === undefined ? { kind: 'abandon' } : failures.get(message.sequenceNumber);
    if (failed?.kind !== 'abandon') {
      const action = settled(batch, failed);
      if (action.kind === 'abandon') delays.push(action.delayMs ?? 0);
      return { lockToken: message.lockToken, action };
    }
    const delayMs = failed.delayMs ?? retryDelay(batch, message);
    if (!isLast(batch, message)) delays.push(delayMs);
    // In a session, the session waits: its messages are delivered in order.
    const isLater = batch.sessionId === undefined && delayMs > 0;
    const action = { kind: 'abandon', ...(isLater ? { delayMs } : {}) } as const;
    return { lockToken: message.lockToken, action };
  });
  if (delays.length === 0) return { settlements };
  return { settlements, delays: [...new Set(delays)] };
}

function settled(
  batch: Batch,
  failed: Exclude<Failure['action'], { kind: 'abandon' }> | undefined,
): SettlementAction {
  if (failed === undefined) return { kind: 'complete' } as const;
  if (failed.kind === 'defer') return failed;
  return deadLettered(batch, failed, PUSH.deadLetterRetryMs);
}

/** Whether a message that fails is dead-lettered, since its deliveries are used up. */
function isLast({ entity, consumer }: Batch, { failedDeliveries }: LockedMessage): boolean {
  const { description } = entity;
  if (description.kind === 'topic' || consumer.subQueue !== 'main') return false;
  return failedDeliveries + 1 >= description.maxDeliveryCount;
}

/** Dead-letters a message. In a dead-letter queue, where that cannot be done, the message waits for `delayMs`. */
export function deadLettered(
  { consumer }: Pick<Batch, 'consumer'>,
  { reason, description }: { readonly reason?: string; readonly description?: string },
  delayMs: number,
): SettlementAction {
  if (consumer.subQueue !== 'main') return { kind: 'abandon', delayMs };
  return { kind: 'deadLetter', ...present({ reason, description }) };
}

/** Gives messages back that nobody was called for: no delivery counts. */
export function untried(messages: readonly LockedMessage[]): readonly Settlement[] {
  const action = { kind: 'abandon', isUncounted: true } as const;
  return messages.map(({ lockToken }) => ({ lockToken, action }));
}

/** How long a message waits after its delivery failed, ms: twice as long after each. */
export function retryDelay(
  { consumer }: Pick<Batch, 'consumer'>,
  { failedDeliveries }: Pick<LockedMessage, 'failedDeliveries'>,
): number {
  if (consumer.subQueue !== 'main') return PUSH.deadLetterRetryMs;
  return doubled({ first: PUSH.retryMsFirst, most: PUSH.retryMsMax }, failedDeliveries);
}

/** The pause of a consumer whose target could not be called for the `tries`th time in a row, from 0, ms. */
export function pauseAfter(
  { why }: Extract<Reply, { kind: 'unavailable' }>,
  tries: number,
): number {
  return doubled(why === 'throttled' ? PUSH.throttledMs : PUSH.unreachableMs, tries);
}

function doubled(
  { first, most }: { readonly first: number; readonly most: number },
  times: number,
) {
  return Math.min(most, first * 2 ** Math.min(times, DOUBLINGS_MAX));
}

/** More doublings would leave the range of exact numbers. */
const DOUBLINGS_MAX = 30;

/**
 * Divides a batch among calls: messages that have failed several times alone, since one of them may be why all failed,
 * and the others together. The order stays.
 */
export function divide(batch: Batch): readonly Batch[] {
  const parts: LockedMessage[][] = [];
  let isOpen = false;
  for (const message of batch.messages) {
    const isAlone = message.failedDeliveries >= PUSH.aloneAfterFailures;
    const last = parts.at(-1);
    if (isAlone || !isOpen || last === undefined) parts.push([message]);
    else last.push(message);
    isOpen = !isAlone;
  }
  return parts.map((messages) => ({ ...batch, messages }));
}
