import { argumentError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';
import {
  type DeliverySettings,
  type EntityStatus,
  type IngressSettings,
  QUEUE_DEFAULTS,
  type QueueDescription,
  SUBSCRIPTION_DEFAULTS,
  type SubscriptionDescription,
  TOPIC_DEFAULTS,
  type TopicDescription,
} from './descriptions.ts';
import {
  durationText,
  type KindName,
  requireDuration,
  requireLength,
  requireOneOf,
  requireWhole,
} from './setting-checks.ts';

/**
 * Validates the settings of entities (semantics N8, N9, N10). A request contains some of them. The others
 * take their defaults, on an update as well as on a creation, since an update replaces all settings rather
 * than merging them (semantics #137).
 */

/**
 * The settings in a client's request. A lock duration or detection window that is unlimited is `Infinity`
 * here.
 */
export type SettingsInput<Description> = Partial<Omit<Description, 'kind'>>;

/**
 * The sizes that a client may set for an entity, or for a fragment of a partitioned one (semantics N8, #P5).
 */
const FRAGMENT_MEGABYTES = [1024, 2048, 3072, 4096, 5120];
const ENTITY_MEGABYTES = [...FRAGMENT_MEGABYTES, 10_240, 20_480, 40_960, 81_920];

/** The statuses of each kind (semantics N18). */
const QUEUE_STATUSES: readonly EntityStatus[] = [
  'Active',
  'Disabled',
  'SendDisabled',
  'ReceiveDisabled',
];
const TOPIC_STATUSES: readonly EntityStatus[] = ['Active', 'Disabled', 'SendDisabled'];
const SUBSCRIPTION_STATUSES: readonly EntityStatus[] = ['Active', 'Disabled', 'ReceiveDisabled'];

/** The description of a new queue. Throws ArgumentError for invalid settings. */
export function newQueue(input: SettingsInput<QueueDescription>): QueueDescription {
  const queue = { ...QUEUE_DEFAULTS, ...input, ...fragmentSize('Queue', input) };
  requireIngressSettings(queue);
  requireDeliverySettings(queue);
  requireOneOf('status', queue.status, QUEUE_STATUSES);
  return withoutIdleDeletionIfForwarding(queue);
}

/** The description of a queue after an update. Throws ArgumentError for invalid or unchangeable settings. */
export function updateQueue(
  current: QueueDescription,
  input: SettingsInput<QueueDescription>,
): QueueDescription {
  requireUnchanged('Queue', current, { ...QUEUE_DEFAULTS, ...input });
  return newQueue({ ...input, ...partitionsAsCreated(current) });
}

/** The description of a new topic. Throws ArgumentError for invalid settings. */
export function newTopic(input: SettingsInput<TopicDescription>): TopicDescription {
  const topic = { ...TOPIC_DEFAULTS, ...input, ...fragmentSize('Topic', input) };
  requireIngressSettings(topic);
  requireCommonSettings(topic);
  requireOneOf('status', topic.status, TOPIC_STATUSES);
  return topic;
}

/** The description of a topic after an update. Throws ArgumentError for invalid or unchangeable settings. */
export function updateTopic(
  current: TopicDescription,
  input: SettingsInput<TopicDescription>,
): TopicDescription {
  requireUnchanged('Topic', current, { ...TOPIC_DEFAULTS, ...input });
  return newTopic({ ...input, ...partitionsAsCreated(current) });
}

/** The description of a new subscription. Throws ArgumentError for invalid settings. */
export function newSubscription(
  input: SettingsInput<SubscriptionDescription>,
): SubscriptionDescription {
  const subscription = { ...SUBSCRIPTION_DEFAULTS, ...input };
  requireDeliverySettings(subscription);
  requireOneOf('status', subscription.status, SUBSCRIPTION_STATUSES);
  return withoutIdleDeletionIfForwarding(subscription);
}

/**
 * The description of a subscription after an update. Throws ArgumentError for invalid or unchangeable
 * settings.
 */
export function updateSubscription(
  current: SubscriptionDescription,
  input: SettingsInput<SubscriptionDescription>,
): SubscriptionDescription {
  requireUnchanged('Subscription', current, { ...SUBSCRIPTION_DEFAULTS, ...input });
  return newSubscription(input);
}

function partitionsAsCreated({ partitions }: IngressSettings): Pick<IngressSettings, 'partitions'> {
  return partitions === undefined ? {} : { partitions };
}

/**
 * The maximum size that clients see, in MB. A partitioned entity has sixteen fragments of the size that was
 * set, and shows their sum (semantics #138). In the Premium tier the size that was set is that of the whole
 * entity.
 */
export function totalMegabytes(settings: IngressSettings): number {
  return settings.maxSizeInMegabytes * (hasSizedFragments(settings) ? LIMITS.partitions : 1);
}

function hasSizedFragments(settings: Partial<IngressSettings>): boolean {
  return settings.enablePartitioning === true && settings.partitions === undefined;
}

/**
 * The size of one fragment. On an update, clients send the size that they have read, which for a partitioned
 * entity is the sum of its fragments. Both forms are accepted; no value is valid in both.
 */
function fragmentSize(
  kind: KindName,
  input: Partial<IngressSettings>,
): { readonly maxSizeInMegabytes?: number } {
  const size = input.maxSizeInMegabytes;
  if (size === undefined) return {};
  if (!hasSizedFragments(input)) {
    requireOneOf('maxSizeInMegabytes', size, ENTITY_MEGABYTES);
    return { maxSizeInMegabytes: size };
  }
  const fragment = size > Math.max(...FRAGMENT_MEGABYTES) ? size / LIMITS.partitions : size;
  if (!FRAGMENT_MEGABYTES.includes(fragment)) {
    throw argumentError(
      `The value '${size}' of the 'maxSizeInMegabytes' property is not one of ${FRAGMENT_MEGABYTES.join(', ')}, or ${LIMITS.partitions} times that, as a partitioned ${kind} needs.`,
    );
  }
  return { maxSizeInMegabytes: fragment };
}

function requireIngressSettings(settings: IngressSettings): void {
  const { duplicateDetectionMsMin, duplicateDetectionMsMax, messageKilobytesMax } = LIMITS;
  requireDuration(
    'duplicateDetectionHistoryTimeWindow',
    settings.duplicateDetectionMs,
    duplicateDetectionMsMin,
    duplicateDetectionMsMax,
  );
  const { maxMessageSizeInKilobytes: kilobytes } = settings;
  requireWhole('maxMessageSizeInKilobytes', kilobytes, 1, messageKilobytesMax);
  // In the service's words (semantics N13).
  if (settings.enableExpress && settings.requiresDuplicateDetection) {
    throw argumentError(
      "Both DelayedPersistence and RequiresDuplicateDetection property can't be enabled together.",
    );
  }
}

function requireDeliverySettings(settings: DeliverySettings): void {
  requireCommonSettings(settings);
  // In the service's words (semantics #140).
  if (settings.lockMs > LIMITS.lockMsMax) {
    throw argumentError(
      `The supplied lock time exceeds the allowed maximum of '${LIMITS.lockMsMax / 60_000}' minutes. It was '${durationText(settings.lockMs)}'.`,
    );
  }
  requireDuration('lockDuration', settings.lockMs, LIMITS.lockMsMin);
  requireWhole('maxDeliveryCount', settings.maxDeliveryCount, 1, LIMITS.maxDeliveryCountMax);
}

function requireCommonSettings(settings: {
  readonly defaultTimeToLiveMs?: number;
  readonly autoDeleteOnIdleMs?: number;
  readonly userMetadata?: string;
}): void {
  const { defaultTimeToLiveMs = Infinity, autoDeleteOnIdleMs = Infinity } = settings;
  requireDuration('defaultMessageTimeToLive', defaultTimeToLiveMs, LIMITS.defaultTimeToLiveMsMin);
  // At least 5 minutes (semantics #A18, #141).
  requireDuration('autoDeleteOnIdle', autoDeleteOnIdleMs, LIMITS.autoDeleteOnIdleMsMin);
  requireLength('userMetadata', settings.userMetadata, LIMITS.userMetadataLength);
}

/** The settings that only a creation can set (semantics #139, N11, #82, #P2). */
interface CreationSettings {
  readonly requiresSession?: boolean;
  readonly requiresDuplicateDetection?: boolean;
  readonly enablePartitioning?: boolean;
  readonly enableSubscriptionPartitioning?: boolean;
}

const CREATION_ONLY = [
  'requiresDuplicateDetection',
  'requiresSession',
  'enableSubscriptionPartitioning',
] as const satisfies readonly (keyof CreationSettings)[];

function requireUnchanged(kind: KindName, current: CreationSettings, wanted: CreationSettings) {
  if (current.enablePartitioning !== wanted.enablePartitioning) {
    throw argumentError(
      `Partitioning can't be changed for Queue/Topic. It is '${current.enablePartitioning}'; the update says '${wanted.enablePartitioning}'.`,
    );
  }
  for (const name of CREATION_ONLY) {
    if (current[name] === wanted[name]) continue;
    throw argumentError(
      `The value for the '${name}' property of an existing ${kind} can't be changed. It is '${current[name]}'; the update says '${wanted[name]}'.`,
    );
  }
}

/** An entity that forwards is never idle, so the service drops the setting (semantics #A21, F3). */
function withoutIdleDeletionIfForwarding<T extends DeliverySettings>(description: T): T {
  if (description.forwardTo === undefined) return description;
  const { autoDeleteOnIdleMs: _, ...rest } = description;
  return rest as T;
}
