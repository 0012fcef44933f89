import type { SessionHandle } from '../../../shared/broker/broker.ts';

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
