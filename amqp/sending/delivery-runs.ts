import { SHARED_SEND_MESSAGES_MAX } from '../../shared/broker/group-commit/sends.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import type { IncomingDelivery } from '../endpoint/incoming-link.ts';
import { BATCH_FORMAT } from '../messages/read-message.ts';

/** A delivery with its decoded messages. */
export interface ReadDelivery {
  readonly delivery: IncomingDelivery;
  readonly messages: readonly OutgoingMessage[];
}

/** Deliveries that the broker keeps in order although they are sent at once, or one that is too large for that. */
export interface Run {
  readonly deliveries: ReadDelivery[];
  readonly isShared: boolean;
}

/** Divides deliveries into runs, in order. */
export function runsOf(read: readonly ReadDelivery[]): readonly Run[] {
  const runs: Run[] = [];
  for (const one of read) {
    const isShared = one.messages.length <= SHARED_SEND_MESSAGES_MAX;
    const last = runs.at(-1);
    if (isShared && last?.isShared === true) last.deliveries.push(one);
    else runs.push({ deliveries: [one], isShared });
  }
  return runs;
}

/** Returns the bytes for which a delivery counts in a turn of decoding. */
export function turnBytesOf({ payload, format }: IncomingDelivery): number {
  return payload.byteLength * (format === BATCH_FORMAT ? BUDGETS.delivery.batchBytesPerByte : 1);
}
