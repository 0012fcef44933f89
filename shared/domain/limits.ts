/** Every quota and bound in one place. Times in ms, sizes in bytes, unless the name says otherwise. */

const KB = 1024;
/** Bytes. */
export const MEGABYTE = 1024 * KB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** Limits that a client can meet (semantics Q1). */
export const LIMITS = {
  entityPathLength: 260,
  childNameLength: 50,
  idLength: 128,
  deadLetterTextLength: 4096,
  userMetadataLength: 1024,

  messageKilobytesDefault: 256,
  messageKilobytesMax: 100 * 1024,
  /** A batch may be this large even where single messages may not. */
  batchBytes: 1024 * KB,
  batchMessages: 4500,
  /** Sequence numbers that one call may name, since it does all or nothing. */
  sequenceNumbers: 100,
  propertyValueBytes: 32 * KB,
  propertiesBytes: 64 * KB,
  /** Their names alone would be longer, since no two are the same. */
  properties: 32 * KB,

  /** The instants that clients know, epoch ms: of the years 1 to 9999. */
  instantMin: -62_135_596_800_000,
  instantMax: 253_402_300_799_999,

  lockMsMin: 5 * SECOND,
  lockMsMax: 5 * MINUTE,
  lockMsDefault: 1 * MINUTE,
  maxDeliveryCountDefault: 10,
  maxDeliveryCountMax: 2_147_483_647,
  autoDeleteOnIdleMsMin: 5 * MINUTE,
  duplicateDetectionMsMin: 20 * SECOND,
  duplicateDetectionMsMax: 7 * DAY,
  duplicateDetectionMsDefault: 10 * MINUTE,
  defaultTimeToLiveMsMin: 1 * SECOND,

  receiveMessages: 1000,
  /** One receive reads at most this many bytes of messages, decoded. */
  receiveBytes: 3 * 1024 * KB,
  /**
   * One answer over HTTP carries at most this many bytes of messages, as they are printed, and
   * `answerExtraBytes` beside them, such as the outcomes of 1,000 settlements. Lambda takes a result
   * of 6,291,556 bytes of JSON, in which the body is base64: 4/3 × (4 MiB + 500 KB) = 6,275,072
   * bytes, which leaves 16 KB for headers.
   */
  answerBytes: 4 * 1024 * KB,
  answerExtraBytes: 500 * KB,
  /** What API Gateway carries of a status line and headers, and of a request line and headers. */
  answerHeaderBytes: 10_240,
  receiveTimeoutSeconds: 60,
  settlements: 1000,
  peekMessages: 250,
  peekBytes: 256 * KB,
  sessionStateBytes: 256 * KB,
  forwardHops: 4,
  transactionMessages: 100,
  partitions: 16,
  partitionsPremium: 2,
  authorizationRules: 12,
  entitiesPerNamespace: 10_000,
  partitionedEntitiesPerNamespace: 100,
  subscriptionsPerTopic: 2000,
  filterTextLength: 1024,
  listPage: 100,
} as const;
