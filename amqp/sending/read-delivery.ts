import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import type { IncomingDelivery } from '../endpoint/incoming-link.ts';
import { BATCH_FORMAT } from '../messages/read-message.ts';

/** A delivery with its decoded messages. */
export interface ReadDelivery {
  readonly delivery: IncomingDelivery;
  readonly messages: readonly OutgoingMessage[];
}

/** Returns the bytes for which a delivery counts in a turn of decoding. */
export function turnBytesOf({ payload, format }: IncomingDelivery): number {
  return payload.byteLength * (format === BATCH_FORMAT ? BUDGETS.delivery.batchBytesPerByte : 1);
}
