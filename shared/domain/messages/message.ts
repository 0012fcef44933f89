import type { Properties } from './property-value.ts';

/** A message as a sender sends it. An absent field was not set by the sender (semantics M2). */
export interface OutgoingMessage {
  /** Opaque: the broker and its filters do not read it (semantics M1). */
  readonly body: Uint8Array;
  readonly messageId?: string;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  readonly viaPartitionKey?: string;
  readonly correlationId?: string;
  /** Called Label by the REST API and Subject by newer clients. */
  readonly label?: string;
  readonly contentType?: string;
  readonly replyTo?: string;
  readonly replyToSessionId?: string;
  readonly to?: string;
  /** Belongs to the message (semantics #A1), and is counted from the enqueue. Absent = the entity's default applies. */
  readonly timeToLiveMs?: number;
  /** Epoch ms. An instant in the past means now. */
  readonly scheduledEnqueueAt?: number;
  /** Stored and returned, without any effect, since every message is persisted. */
  readonly forcePersistence?: boolean;
  readonly properties: Properties;
  /** The AMQP-only sections (body sections, annotations), which HTTP cannot express, kept byte for byte. */
  readonly amqp?: Uint8Array;
  /** `body` was made from `amqp`, as JSON for other surfaces, so the two count once. Not stored. */
  readonly bodyShowsAmqp?: boolean;
}

type OrderingKeys = Pick<OutgoingMessage, 'sessionId' | 'partitionKey'>;

/**
 * The key by which messages of a partitioned entity keep their order (semantics P18): the session id, else
 * the partition key. An empty session id has precedence over a partition key only in an entity that requires sessions.
 */
export function orderingKeyOf(
  { sessionId, partitionKey }: OrderingKeys,
  { requiresSession = false }: { readonly requiresSession?: boolean },
): string | undefined {
  return requiresSession ? (sessionId ?? partitionKey) : sessionId || (partitionKey ?? sessionId);
}

/**
 * Whether session id and partition key of a message contradict each other (semantics #134). An empty one does not count
 * (asserted by the live suite of the vendor's JavaScript client, sessionsTests.spec.ts).
 */
export function hasTwoOrderingKeys({ sessionId, partitionKey }: OrderingKeys): boolean {
  return Boolean(sessionId && partitionKey) && sessionId !== partitionKey;
}

/**
 * The partition key that receivers and filters see: the sender's, or the session id if the sender set none
 * (semantics M6; recordings of the vendor's REST client for Node, 2014).
 */
export function shownPartitionKey({ sessionId, partitionKey }: OrderingKeys): string | undefined {
  return partitionKey || sessionId || partitionKey;
}

/** A message as it is stored: it always has an id, and may have a history in other entities. */
export interface Message extends OutgoingMessage {
  readonly messageId: string;
  /** Set if the message was forwarded: its number in the entity to which it was sent (semantics M12). */
  readonly enqueuedSequenceNumber?: bigint;
  /** Set if the message was forwarded out of a dead-letter queue: the entity that dead-lettered it. */
  readonly deadLetterSource?: string;
  /** How many entities have forwarded it. */
  readonly hops?: number;
}

/** The state that clients see. Locked and expired messages have no state of their own (semantics M15). */
export type MessageState = 'Active' | 'Deferred' | 'Scheduled';

/** A message as a receive or a peek returns it, with what the broker adds (semantics M9). */
export interface StoredMessage {
  readonly message: Message;
  /** 64 bits, with the partition in the top 16. */
  readonly sequenceNumber: bigint;
  /** Epoch ms. For a scheduled message that was activated, its due time. */
  readonly enqueuedAt: number;
  /** Earlier deliveries that ended without success: 0 on the first delivery. */
  readonly failedDeliveries: number;
  readonly state: MessageState;
  /** Epoch ms. Absent = never, or not computed (peek of a message without a time to live of its own). */
  readonly expiresAt?: number;
  /** The effective time to live, ms. Absent = unlimited or, in a peek, none of its own (semantics #53, W19). */
  readonly timeToLiveMs?: number;
}

/** A locked message. Only the holder of the lock token may settle it, and only until the lock ends. */
export interface LockedMessage extends StoredMessage {
  /** GUID text. */
  readonly lockToken: string;
  /** Epoch ms. */
  readonly lockedUntil: number;
}

/** Orders messages of one log. */
export function bySequenceNumber(
  { sequenceNumber: a }: Pick<StoredMessage, 'sequenceNumber'>,
  { sequenceNumber: b }: Pick<StoredMessage, 'sequenceNumber'>,
): number {
  return a < b ? -1 : 1;
}

/**
 * Lowers a time to live above the entity's default to the default, as the service does (semantics #A10). A shorter one
 * stays (semantics #52).
 */
export function capTimeToLive(message: Message, defaultMs: number | undefined): Message {
  const { timeToLiveMs } = message;
  if (timeToLiveMs === undefined || defaultMs === undefined || timeToLiveMs <= defaultMs) {
    return message;
  }
  return { ...message, timeToLiveMs: defaultMs };
}
