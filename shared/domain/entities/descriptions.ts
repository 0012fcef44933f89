import { LIMITS } from '../limits.ts';

/**
 * The properties of queues, topics and subscriptions (semantics N8, N9, N10, T1). Durations are in ms; an
 * absent duration is unlimited. The surfaces know the names on the wire.
 */

/** The status of an entity (semantics N19). */
export type EntityStatus = 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled';

/** A right of a shared access rule. */
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

/** The settings of queues and subscriptions that decide how messages are stored and delivered. */
export interface DeliverySettings {
  readonly lockMs: number;
  readonly requiresSession: boolean;
  /**
   * The time to live of messages that have none of their own, and the maximum for those that have. Absent = unlimited
   * (semantics #A13).
   */
  readonly defaultTimeToLiveMs?: number;
  readonly deadLetteringOnMessageExpiration: boolean;
  readonly maxDeliveryCount: number;
  readonly enableBatchedOperations: boolean;
  readonly status: EntityStatus;
  /** The name of the destination as the client wrote it. */
  readonly forwardTo?: string;
  readonly forwardDeadLetteredMessagesTo?: string;
  readonly userMetadata?: string;
  readonly autoDeleteOnIdleMs?: number;
}

/** The settings of queues and topics that decide which messages they accept. */
export interface IngressSettings {
  readonly maxSizeInMegabytes: number;
  readonly requiresDuplicateDetection: boolean;
  readonly duplicateDetectionMs: number;
  readonly authorizationRules: readonly AuthorizationRule[];
  readonly supportOrdering: boolean;
  readonly enablePartitioning: boolean;
  /** The number of partitions of a partitioned entity, if the tier has another number than the usual one. */
  readonly partitions?: number;
  readonly enableExpress: boolean;
  readonly isAnonymousAccessible: boolean;
  readonly maxMessageSizeInKilobytes: number;
}

/** The settings of a queue. */
export interface QueueDescription extends DeliverySettings, IngressSettings {
  readonly kind: 'queue';
}

/** The settings of a topic. */
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

/** The settings of a subscription. */
export interface SubscriptionDescription extends DeliverySettings {
  readonly kind: 'subscription';
  readonly deadLetteringOnFilterEvaluationExceptions: boolean;
}

/** The settings of an entity. */
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

/** The service's defaults for a queue (semantics N8). */
export const QUEUE_DEFAULTS: QueueDescription = {
  kind: 'queue',
  ...DELIVERY_DEFAULTS,
  ...INGRESS_DEFAULTS,
};

/** The service's defaults for a topic (semantics N9). */
export const TOPIC_DEFAULTS: TopicDescription = {
  kind: 'topic',
  ...INGRESS_DEFAULTS,
  enableBatchedOperations: true,
  filteringMessagesBeforePublishing: false,
  enableSubscriptionPartitioning: false,
  status: 'Active',
};

/** The service's defaults for a subscription (semantics N10). */
export const SUBSCRIPTION_DEFAULTS: SubscriptionDescription = {
  kind: 'subscription',
  ...DELIVERY_DEFAULTS,
  deadLetteringOnFilterEvaluationExceptions: true,
};
