import type { ReceivedMessage, SessionHandle } from '../../../shared/broker/broker.ts';

/** A message that was handed to an actor. */
export interface Delivery {
  /** Its MessageId. */
  readonly tag: string;
  readonly path: string;
  readonly sequenceNumber: bigint;
  readonly failedDeliveries: number;
  /** Absent where it was removed as it was handed out. */
  readonly lockToken?: string;
  /** Epoch ms. */
  readonly lockedUntil?: number;
  readonly session?: SessionHandle;
}

/** A message that was received, as actors keep it. */
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
