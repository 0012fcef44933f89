import { LIMITS } from '../limits.ts';

/**
 * What a client may say about an entity (semantics N8, N9, N10, T1). Durations in ms; an absent duration
 * is unlimited. Wire names live in the transports.
 */

export type EntityStatus = 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled';

export type AccessRight = 'Send' | 'Listen' | 'Manage';

/** A shared access policy of a namespace, queue or topic (semantics K4). */
export interface AuthorizationRule {
  readonly keyName: string;
  readonly primaryKey: string;
  readonly secondaryKey: string;
  readonly rights: readonly AccessRight[];
  /** Epoch ms. */
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** The settings that decide how messages are kept and handed out; queues and subscriptions have them. */
export interface DeliverySettings {
  readonly lockMs: number;
  readonly requiresSession: boolean;
  /** Used where a message has none of its own, and a ceiling over those that have. */
  readonly defaultTimeToLiveMs?: number;
  readonly deadLetteringOnMessageExpiration: boolean;
  readonly maxDeliveryCount: number;
  readonly enableBatchedOperations: boolean;
  readonly status: EntityStatus;
  /** Name of the destination, as given. */
  readonly forwardTo?: string;
  readonly forwardDeadLetteredMessagesTo?: string;
  readonly userMetadata?: string;
  readonly autoDeleteOnIdleMs?: number;
}

/** The settings that decide what may come in; queues and topics have them. */
export interface IngressSettings {
  readonly maxSizeInMegabytes: number;
  readonly requiresDuplicateDetection: boolean;
  readonly duplicateDetectionMs: number;
  readonly authorizationRules: readonly AuthorizationRule[];
  readonly supportOrdering: boolean;
  readonly enablePartitioning: boolean;
  /** How many partitions a partitioned entity has, where the tier gives it other than the usual. */
  readonly partitions?: number;
  readonly enableExpress: boolean;
  readonly isAnonymousAccessible: boolean;
  readonly maxMessageSizeInKilobytes: number;
}

export interface QueueDescription extends DeliverySettings, IngressSettings {
  readonly kind: 'queue';
}

export interface TopicDescription extends IngressSettings {
  readonly kind: 'topic';
  readonly defaultTimeToLiveMs?: number;
  readonly enableBatchedOperations: boolean;
  readonly filteringMessagesBeforePublishing: boolean;
  readonly enableSubscriptionPartitioning: boolean;
  readonly status: EntityStatus;
  readonly userMetadata?: string;
  readonly autoDeleteOnIdleMs?: number;
}

export interface SubscriptionDescription extends DeliverySettings {
  readonly kind: 'subscription';
  readonly deadLetteringOnFilterEvaluationExceptions: boolean;
}

export type EntityDescription = QueueDescription | TopicDescription | SubscriptionDescription;

const DELIVERY_DEFAULTS = {
  lockMs: LIMITS.lockMsDefault,
  requiresSession: false,
  deadLetteringOnMessageExpiration: false,
  maxDeliveryCount: LIMITS.maxDeliveryCountDefault,
  enableBatchedOperations: true,
  status: 'Active',
} as const satisfies DeliverySettings;

const INGRESS_DEFAULTS = {
  maxSizeInMegabytes: 1024,
  requiresDuplicateDetection: false,
  duplicateDetectionMs: LIMITS.duplicateDetectionMsDefault,
  authorizationRules: [],
  supportOrdering: true,
  enablePartitioning: false,
  enableExpress: false,
  isAnonymousAccessible: false,
  maxMessageSizeInKilobytes: LIMITS.messageKilobytesDefault,
} as const satisfies IngressSettings;

/** A queue about which nothing was said; the defaults of the service (semantics N8). */
export const QUEUE_DEFAULTS: QueueDescription = {
  kind: 'queue',
  ...DELIVERY_DEFAULTS,
  ...INGRESS_DEFAULTS,
};

/** A topic about which nothing was said; the defaults of the service (semantics N9). */
export const TOPIC_DEFAULTS: TopicDescription = {
  kind: 'topic',
  ...INGRESS_DEFAULTS,
  enableBatchedOperations: true,
  filteringMessagesBeforePublishing: false,
  enableSubscriptionPartitioning: false,
  status: 'Active',
};

/** A subscription about which nothing was said; the defaults of the service (semantics N10). */
export const SUBSCRIPTION_DEFAULTS: SubscriptionDescription = {
  kind: 'subscription',
  ...DELIVERY_DEFAULTS,
  deadLetteringOnFilterEvaluationExceptions: true,
};
