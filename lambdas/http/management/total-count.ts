import type { MessageCounts } from '../../../shared/broker/ports/management.ts';

/** The sum of the messages in all states (semantics #155, N21). */
export function totalCount(counts: MessageCounts): number {
  const { active, deadLetter, scheduled, transfer, transferDeadLetter } = counts;
  return active + deadLetter + scheduled + transfer + transferDeadLetter;
}
