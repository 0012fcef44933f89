import type { OperationRecord } from '../clients/record.ts';
import type { EntitySpec, MessageSpec } from '../scenario/scenario.ts';
import { Copy, type SendOutcome } from './copy.ts';
import type { Routes } from './route.ts';

/** A message that an operation sent. */
export interface SentMessage {
  readonly record: OperationRecord;
  /** To which entity. */
  readonly to: string;
  readonly message: MessageSpec;
  /** How far clocks are apart, ms. */
  readonly apartMs: number;
}

/** The copies that a send makes of a message, one at the end of each way, and what is known of them at once. */
export function copiesOf(
  routes: Routes,
  { record, to, message, apartMs }: SentMessage,
): readonly Copy[] {
  // What came into an entity while it was deleted went with it.
  const isDeleted = record.code === 'MessagingEntityNotFound';
  const outcome: SendOutcome = record.heard === 'failed' || isDeleted ? 'unknown' : record.heard;
  const entity = routes.entity(to);
  return routes.ends(to, message).map((end) => {
    const timeToLiveMs = routes.timeToLiveMs(to, end, message);
    const copy = new Copy(record, {
      message,
      to,
      end,
      outcome,
      expiresFrom: record.start + timeToLiveMs - apartMs,
    });
    if (!isDirect(entity, routes.entity(end))) return copy;
    if (message.delayMs === undefined) copy.sequenceNumber = record.numbers?.get(message.tag);
    if (outcome !== 'done' || routes.detectionMs(to) !== undefined) return copy;
    if (message.delayMs === undefined) copy.mark(record, end);
    else if (end === to) {
      copy.mark(record, end);
      copy.hold({ from: record.start, to: record.end + message.delayMs + apartMs });
    }
    return copy;
  });
}

/** Whether a send puts a message where it ends: what goes on from there arrives by hands that nobody hears of. */
function isDirect(to: EntitySpec | undefined, end: EntitySpec | undefined): boolean {
  return to === end || (end?.kind === 'subscription' && end.topic === to?.path);
}
