/** The annotations that the broker reads or sets (semantics W16). */
export const ANNOTATION = {
  partitionKey: 'x-opt-partition-key',
  viaPartitionKey: 'x-opt-via-partition-key',
  scheduledEnqueueTime: 'x-opt-scheduled-enqueue-time',
  sequenceNumber: 'x-opt-sequence-number',
  enqueuedTime: 'x-opt-enqueued-time',
  enqueuedSequenceNumber: 'x-opt-enqueue-sequence-number',
  lockedUntil: 'x-opt-locked-until',
  messageState: 'x-opt-message-state',
  deadLetterSource: 'x-opt-deadletter-source',
  partitionId: 'x-opt-partition-id',
} as const;

export const LOCK_TOKEN = 'x-opt-lock-token';

/**
 * Not kept as sent: fields of `Message`, or read-only ones, ignored as in `BrokerProperties` over HTTP (semantics M9).
 */
export const BROKER_ANNOTATIONS: ReadonlySet<string> = new Set(Object.values(ANNOTATION));

/** The same for delivery annotations. */
export const BROKER_DELIVERY_ANNOTATIONS: ReadonlySet<string> = new Set([LOCK_TOKEN]);

/** Field positions in the properties section (part 3.2.4 of the standard). */
export const PROPERTY = {
  messageId: 0,
  userId: 1,
  to: 2,
  subject: 3,
  replyTo: 4,
  correlationId: 5,
  contentType: 6,
  contentEncoding: 7,
  absoluteExpiryTime: 8,
  creationTime: 9,
  groupId: 10,
  groupSequence: 11,
  replyToGroupId: 12,
} as const;

/** Field positions in the header section (part 3.2.1 of the standard). */
export const HEADER = {
  durable: 0,
  priority: 1,
  timeToLive: 2,
  firstAcquirer: 3,
  deliveryCount: 4,
} as const;

/** The largest time to live in a header, ms. At it, creation and expiry time say it (semantics W18). */
export const HEADER_TTL_MAX = 0xffff_ffff;
