import type { Properties } from './property-value.ts';

/** What a sender hands over. Absent fields were not set by the sender (semantics M2). */
export interface OutgoingMessage {
  /** Opaque; the broker and its filters never look at it. */
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
  /** Relative, counted from the instant of enqueue. Absent = the entity decides. */
  readonly timeToLiveMs?: number;
  /** Epoch milliseconds. A past instant means now. */
  readonly scheduledEnqueueAt?: number;
  /** Kept and returned; of no effect, since everything is persisted here. */
  readonly forcePersistence?: boolean;
  readonly properties: Properties;
  /** Any AMQP part that HTTP has no place for (body kind, annotations), kept bit for bit. */
  readonly amqp?: Uint8Array;
  /** The body only shows to other transports what `amqp` holds. Not stored. */
  readonly bodyShowsAmqp?: boolean;
}

type OrderingKeys = Pick<OutgoingMessage, 'sessionId' | 'partitionKey'>;

/**
 * The key by which messages keep their order: the session id, else the partition key. An empty session id
 * goes before a partition key only in an entity that requires sessions.
 */
export function orderingKeyOf(
  { sessionId, partitionKey }: OrderingKeys,
  { requiresSession = false }: { readonly requiresSession?: boolean },
): string | undefined {
  return requiresSession ? (sessionId ?? partitionKey) : sessionId || (partitionKey ?? sessionId);
}

/**
 * Whether a message asks for two orders at once. An empty id asks for none (asserted by the live suite of
 * the vendor's JavaScript client, sessionsTests.spec.ts).
 */
export function hasTwoOrderingKeys({ sessionId, partitionKey }: OrderingKeys): boolean {
  return Boolean(sessionId && partitionKey) && sessionId !== partitionKey;
}

/**
 * The partition key that receivers and filters see: if the sender gave none, the session id is the key
 * (recorded by the vendor's REST client for Node in 2014).
 */
export function shownPartitionKey({ sessionId, partitionKey }: OrderingKeys): string | undefined {
  return partitionKey || sessionId || partitionKey;
}

/** A message as it is stored: it has an identity, and perhaps a history in other entities. */
export interface Message extends OutgoingMessage {
  readonly messageId: string;
  /** The number in the entity it was first sent to, where it was forwarded (semantics M12). */
  readonly enqueuedSequenceNumber?: bigint;
  /** The entity in which it was dead-lettered, where it was forwarded out of a dead-letter queue. */
  readonly deadLetterSource?: string;
  /** How many entities forwarded it so far. */
  readonly hops?: number;
}

/** Not locked-ness and not expiry: those are no states and cannot be seen (semantics M15). */
export type MessageState = 'Active' | 'Deferred' | 'Scheduled';

/** A message as a receiver or a browser sees it. */
export interface StoredMessage {
  readonly message: Message;
  /** 64 bits; the top 16 are the partition. */
  readonly sequenceNumber: bigint;
  /** Epoch milliseconds; of a scheduled message its due time once activated. */
  readonly enqueuedAt: number;
  /** Earlier deliveries that ended without success ("raw": 0 on the first delivery). */
  readonly failedDeliveries: number;
  readonly state: MessageState;
  /** Epoch milliseconds. Absent = never, or not computed (peek of a message without its own TTL). */
  readonly expiresAt?: number;
  /** The time to live in force, ms; absent = unlimited. */
  readonly timeToLiveMs?: number;
}

/** A message under a lock: only the holder of the token may settle it, and only while it lasts. */
export interface LockedMessage extends StoredMessage {
  /** GUID text. */
  readonly lockToken: string;
  /** Epoch milliseconds. */
  readonly lockedUntil: number;
}

/** A time to live above the entity's default is silently lowered to it (semantics #A10). */
export function lowerTimeToLive(message: Message, defaultMs: number | undefined): Message {
  const { timeToLiveMs } = message;
  if (timeToLiveMs === undefined || defaultMs === undefined || timeToLiveMs <= defaultMs) {
    return message;
  }
  return { ...message, timeToLiveMs: defaultMs };
}
