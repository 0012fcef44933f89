import type { ReceivedMessage, SessionHandle } from '../../../shared/broker/broker.ts';

/** A message that an actor received. */
export interface Delivery {
  /** Its MessageId. */
  readonly tag: string;
  readonly path: string;
  readonly sequenceNumber: bigint;
  readonly failedDeliveries: number;
  /** Absent if the message was received and deleted. */
  readonly lockToken?: string;
  /** Epoch ms. */
  readonly lockedUntil?: number;
  readonly session?: SessionHandle;
}

/** The delivery of a received message. */
export function deliveryOf(
  path: string,
  one: ReceivedMessage,
  session: SessionHandle | undefined,
): Delivery {
  const { message, sequenceNumber, failedDeliveries } = one;
  return {
    tag: message.messageId,
    path,
    sequenceNumber,
    failedDeliveries,
    ...('lockToken' in one ? { lockToken: one.lockToken, lockedUntil: one.lockedUntil } : {}),
    ...(session === undefined ? {} : { session }),
  };
}
