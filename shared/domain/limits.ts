import { DAY_MS, KB, MB, MINUTE_MS, SECOND_MS } from './units.ts';

/**
 * The limits of Service Bus (semantics Q1), of Lambda and API Gateway, and ours on single calls. Bounds that protect
 * the process are in budgets/budgets.ts. Times in ms, sizes in bytes, unless the name says otherwise.
 */
export const LIMITS = {
  entityPathLength: 260,
  childNameLength: 50,
  idLength: 128,
  deadLetterTextLength: 4096,
  userMetadataLength: 1024,

  messageKilobytesDefault: 256,
  messageKilobytesMax: 100 * 1024,
  /** A batch may always have this size, even if single messages of the entity must be smaller. */
  batchBytes: 1024 * KB,
  batchMessages: 4500,
  /** Sequence numbers in one call. The call handles all of them or none, so they are few. */
  sequenceNumbers: 100,
  propertyValueBytes: 32 * KB,
  propertiesBytes: 64 * KB,
  /** With more, the names alone would exceed `propertiesBytes`, since no two names are equal. */
  properties: 32_768,

  /** The instants that clients can represent, epoch ms: the years 1 to 9999. */
  instantMin: -62_135_596_800_000,
  instantMax: 253_402_300_799_999,

  lockMsMin: 5 * SECOND_MS,
  lockMsMax: 5 * MINUTE_MS,
  lockMsDefault: 1 * MINUTE_MS,
  /** Allowed unless an entity says otherwise (semantics #23). */
  maxDeliveryCountDefault: 10,
  /** In place of no limit (semantics #39). */
  maxDeliveryCountMax: 2_147_483_647,
  autoDeleteOnIdleMsMin: 5 * MINUTE_MS,
  /** The window of duplicate detection (semantics #83). */
  duplicateDetectionMsMin: 20 * SECOND_MS,
  duplicateDetectionMsMax: 7 * DAY_MS,
  duplicateDetectionMsDefault: 10 * MINUTE_MS,
  defaultTimeToLiveMsMin: 1 * SECOND_MS,

  receiveMessages: 1000,
  /** Decoded bytes of messages that one receive reads at most. */
  receiveBytes: 3 * 1024 * KB,
  /**
   * An HTTP response carries at most this many bytes of messages as JSON, and `answerExtraBytes` of
   * everything else, such as the outcomes of 1,000 settlements. Lambda accepts a result of 6,291,556 bytes of
   * JSON, in which the body is base64: 4/3 × (4 MB + 500 KB) = 6,275,072 bytes, which leaves 16 KB for
   * headers.
   */
  answerBytes: 4 * 1024 * KB,
  answerExtraBytes: 500 * KB,
  /** The largest message that fits `answerBytes` with what the broker adds, such as a reason for its dead-lettering. */
  answeredMessageBytes: (4 * 1024 - 64) * KB,
  /** API Gateway's limit for a status line with headers, and for a request line with headers. */
  answerHeaderBytes: 10_240,
  receiveTimeoutSeconds: 60,
  settlements: 1000,
  peekMessages: 250,
  peekBytes: 256 * KB,
  sessionStateBytes: 256 * KB,
  /** How often a message is forwarded at most (semantics #122). */
  forwardHops: 4,
  transactionMessages: 100,
  partitions: 16,
  partitionsPremium: 2,
  authorizationRules: 12,
  entitiesPerNamespace: 10_000,
  partitionedEntitiesPerNamespace: 100,
  subscriptionsPerTopic: 2000,
  filterTextLength: 1024,
  /** What a rule takes in an answer without its name: a page of them, with what is around them, fits `answerBytes`. */
  ruleBytes: 36 * KB,
  listPage: 100,
  /** Entities of a page of `GET /$entities`, if the client asks for as many. */
  everythingPage: 1000,
} as const;

/** Limits that a composition may make smaller, so that a test reaches them with little. */
export interface StorageLimits {
  /** Items that one transaction writes at most. */
  readonly transactionItems: number;
  /** Bytes that an entity takes for each megabyte of its maximum size. */
  readonly bytesPerMegabyte: number;
}

/** The limits of DynamoDB; a megabyte is a whole one. */
export const STORAGE_LIMITS: StorageLimits = { transactionItems: 100, bytesPerMegabyte: MB };
