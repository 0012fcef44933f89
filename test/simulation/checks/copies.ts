import type { OperationRecord } from '../clients/record.ts';
import type { EntitySpec, MessageSpec } from '../scenario/scenario.ts';
import { Copy, type SendOutcome } from './copy.ts';
import type { Routes } from './route.ts';

/** A message that an operation sent. */
export interface SentMessage {
  readonly record: OperationRecord;
  /** The entity it was sent to. */
  readonly to: string;
  readonly message: MessageSpec;
  /** The largest skew between two clocks, ms. */
  readonly skewMs: number;
}

/** The copies that a send makes of a message, one at each final entity, with what the send's answer says. */
export function copiesOf(
  routes: Routes,
  { record, to, message, skewMs }: SentMessage,
): readonly Copy[] {
  // A message that is stored during the deletion of its entity may be deleted with it.
  const isDeleted = record.code === 'MessagingEntityNotFound';
  const outcome: SendOutcome =
    record.outcome === 'failed' || isDeleted ? 'unknown' : record.outcome;
  const entity = routes.entity(to);
  return routes.ends(to, message).map((end) => {
    const timeToLiveMs = routes.timeToLiveMs(to, end, message);
    const copy = new Copy(record, {
      message,
      to,
      end,
      outcome,
      expiresFrom: record.start + timeToLiveMs - skewMs,
    });
    if (!isDirect(entity, routes.entity(end))) return copy;
    if (message.delayMs === undefined) copy.sequenceNumber = record.numbers?.get(message.tag);
    if (outcome !== 'done' || routes.detectionMs(to) !== undefined) return copy;
    if (message.delayMs === undefined) copy.mark(record, end);
    else if (end === to) {
      copy.mark(record, end);
      copy.hold({ from: record.start, to: record.end + message.delayMs + skewMs });
    }
    return copy;
  });
}

/** Whether the send itself stores the copy at its final entity; otherwise forwarding moves it there later. */
function isDirect(to: EntitySpec | undefined, end: EntitySpec | undefined): boolean {
  return to === end || (end?.kind === 'subscription' && end.topic === to?.path);
}
