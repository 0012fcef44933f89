/** What the model of a queue knows of its messages. All times in epoch ms, all spans in ms. */

/** Where a message is: the queue, its dead-letter queue, or nowhere any more. */
export type Place = 'main' | 'dead' | 'gone';

/** The settings that matter to the life of a message. */
export interface QueueSettings {
  readonly lockMs: number;
  readonly maxDeliveryCount: number;
  readonly defaultTtlMs: number | undefined;
  readonly deadLettersExpired: boolean;
}

/** A message as somebody received it under a lock. */
export interface Delivery {
  readonly message: ModelMessage;
  readonly place: 'main' | 'dead';
  readonly token: string;
  /** The address of the lock, where the message came alone. */
  readonly location: string | undefined;
  until: number;
}

/** A message as it should be. */
export interface ModelMessage {
  readonly id: string;
  readonly body: string;
  place: Place;
  state: 'Active' | 'Deferred' | 'Scheduled';
  /** Absent until it is seen where docs/semantics leaves open which one it is. */
  sequence: number | undefined;
  /** Of a scheduled message the instant at which it comes due. */
  enqueuedAt: number;
  /** Its own time to live. */
  ttlMs: number | undefined;
  /** Deliveries begun; those in a dead-letter queue do not count. */
  deliveries: number;
  /** The last lock taken, unless it was given up; it may have run out. */
  lock: Delivery | undefined;
  /** The end of the delay with which it was abandoned. */
  delayedUntil: number;
  /** Whether a receiver has asked, since it expired, which lets the bus clear it away. */
  mayBeCleared: boolean;
  /** When its last lock was given up. */
  unlockedAt: number;
  properties: Record<string, unknown>;
}

/** How a message stands at an instant. `expired` and `exhausted` ones are over: never handed out. */
export type Standing = 'scheduled' | 'locked' | 'exhausted' | 'expired' | 'delayed' | 'free';

/** What a sender says of a message. */
export interface Draft {
  readonly ttlMs: number | undefined;
  readonly dueAt: number | undefined;
  readonly bytes: number;
}

/** What a holder wants done with a message. */
export type ModelAction =
  | { readonly kind: 'complete' }
  | { readonly kind: 'abandon'; readonly delayMs?: number; readonly mark?: number }
  | { readonly kind: 'defer'; readonly mark?: number }
  | { readonly kind: 'deadLetter'; readonly mark?: number; readonly reason?: string };

/** How a settlement or a renewal must end: well, or with this code. */
export type Outcome = 'done' | 'MessageLockLost' | 'InvalidOperation';
