/** What the model of a queue knows about its messages. Times are in epoch ms, spans in ms. */

/** Where a message is: the queue, its dead-letter queue, or removed. */
export type Place = 'main' | 'dead' | 'gone';

/** The settings of a queue that the model follows. */
export interface QueueSettings {
  readonly lockMs: number;
  readonly maxDeliveryCount: number;
  readonly defaultTtlMs: number | undefined;
  readonly deadLettersExpired: boolean;
}

/** A message that was received under a lock. */
export interface Delivery {
  readonly message: ModelMessage;
  readonly place: 'main' | 'dead';
  readonly token: string;
  /** The URL of the lock, for a message that was received alone. */
  readonly location: string | undefined;
  until: number;
}

/** The expected state of a message. */
export interface ModelMessage {
  readonly id: string;
  readonly body: string;
  place: Place;
  state: 'Active' | 'Deferred' | 'Scheduled';
  /** Absent until the bus shows it, where docs/semantics leaves the number open. */
  sequence: number | undefined;
  /** For a scheduled message, when it becomes due. */
  enqueuedAt: number;
  /** Its own time to live. */
  ttlMs: number | undefined;
  /** Deliveries started, without those from the dead-letter queue. */
  deliveries: number;
  /** The last lock, unless it was settled or ended early; it may have expired. */
  lock: Delivery | undefined;
  /** The end of the delay of its last abandon. */
  delayedUntil: number;
  /** Whether the bus may have removed it: it has expired, and a receiver has asked since. */
  mayBeCleared: boolean;
  /** When its last lock was settled. */
  unlockedAt: number;
  properties: Record<string, unknown>;
}

/** The condition of a message at an instant. `expired` and `exhausted` messages are never delivered. */
export type Standing = 'scheduled' | 'locked' | 'exhausted' | 'expired' | 'delayed' | 'free';

/** What a sender sets on a message. */
export interface Draft {
  readonly ttlMs: number | undefined;
  readonly dueAt: number | undefined;
  readonly bytes: number;
}

/** How a receiver settles a message. */
export type ModelAction =
  | { readonly kind: 'complete' }
  | { readonly kind: 'abandon'; readonly delayMs?: number; readonly mark?: number }
  | { readonly kind: 'defer'; readonly mark?: number }
  | { readonly kind: 'deadLetter'; readonly mark?: number; readonly reason?: string };

/** The expected outcome of a settlement or renewal: success or an error code. */
export type Outcome = 'done' | 'MessageLockLost' | 'InvalidOperation';
