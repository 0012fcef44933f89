/**
 * What a test or a program says of the entities that a namespace starts with. Every setting that is left out has the
 * default of the service. Names of settings are those of the options of `ServiceBusAdministrationClient`.
 */

import type { RuleSettings } from '../../shared/config/rule-description.ts';

export type {
  CorrelationFilter,
  Expression,
  RuleSettings,
  RuleValue,
} from '../../shared/config/rule-description.ts';

/** The queues and topics of a namespace, each as a list, or as a record by name. */
export interface NamespaceDescription {
  /** Queues: `['orders', { name: 'invoices', lockDuration: 'PT30S' }]` or `{ orders: { lockDuration: 'PT30S' } }`. */
  readonly queues?:
    | readonly (string | QueueDescription)[]
    | Readonly<Record<string, QueueSettings>>
    | undefined;
  /** Topics: `[{ name: 'events', subscriptions: ['audit'] }]` or `{ events: { subscriptions: ['audit'] } }`. */
  readonly topics?:
    | readonly (string | TopicDescription)[]
    | Readonly<Record<string, TopicSettings>>
    | undefined;
}

/** A queue with its name. */
export interface QueueDescription extends QueueSettings {
  /** 1 to 260 letters, digits, `.`, `-`, `_` and `/`; unique among queues and topics, whatever the case. */
  readonly name: string;
}

/** A topic with its name. */
export interface TopicDescription extends TopicSettings {
  /** 1 to 260 letters, digits, `.`, `-`, `_` and `/`; unique among queues and topics, whatever the case. */
  readonly name: string;
}

/** A subscription with its name. */
export interface SubscriptionDescription extends SubscriptionSettings {
  /** 1 to 50 letters, digits, `.`, `-` and `_`; unique in its topic, whatever the case. */
  readonly name: string;
}

/** A rule with its name. */
export interface RuleDescription extends RuleSettings {
  /** 1 to 50 letters, digits, `.`, `-` and `_`, or `$Default`; unique in its subscription, whatever the case. */
  readonly name: string;
}

/**
 * A length of time: ISO 8601 text such as `PT30S`, or its parts, which add up. `P10675199DT2H48M5.4775807S` is
 * unlimited.
 */
export type Duration =
  | string
  | {
      readonly days?: number | undefined;
      readonly hours?: number | undefined;
      readonly minutes?: number | undefined;
      readonly seconds?: number | undefined;
      readonly milliseconds?: number | undefined;
    };

/** What an entity accepts: `SendDisabled` and `ReceiveDisabled` stop one direction, `Disabled` both. */
export type EntityStatus = 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled';

/** The settings that queues, topics and subscriptions have. */
export interface CommonSettings {
  /** The time to live of messages that have none or a longer one. Default: unlimited. */
  readonly defaultMessageTimeToLive?: Duration | undefined;
  /** Deletes the entity after this time without use; at least 5 minutes. Default: never. */
  readonly autoDeleteOnIdle?: Duration | undefined;
  /** Kept and returned; without effect. Default: true. */
  readonly enableBatchedOperations?: boolean | undefined;
  /** Default: `Active`. Subscriptions cannot be `SendDisabled`, topics cannot be `ReceiveDisabled`. */
  readonly status?: EntityStatus | undefined;
  /** Up to 1,024 characters of your own. */
  readonly userMetadata?: string | undefined;
}

/** The settings of queues and subscriptions, from which messages are received. */
export interface DeliverySettings {
  /** How long a receiver holds a message; 5 seconds to 5 minutes. Default: 1 minute. */
  readonly lockDuration?: Duration | undefined;
  /** Moves a message to the dead-letter queue after so many deliveries. Default: 10. */
  readonly maxDeliveryCount?: number | undefined;
  /** Delivers messages by session only. Cannot be changed later. Default: false. */
  readonly requiresSession?: boolean | undefined;
  /** Moves expired messages to the dead-letter queue instead of deleting them. Default: false. */
  readonly deadLetteringOnMessageExpiration?: boolean | undefined;
  /** The queue or topic of this description to which all messages are forwarded. */
  readonly forwardTo?: string | undefined;
  /** The queue or topic of this description to which dead letters are forwarded. */
  readonly forwardDeadLetteredMessagesTo?: string | undefined;
  /**
   * The only consumers, which push messages to a target, as a list, or as a record by name, in which a text is a
   * target: `{ worker: 'http://127.0.0.1:3000/orders' }`. Default: those that it has; a new one has none.
   */
  readonly consumers?:
    | readonly ConsumerDescription[]
    | Readonly<Record<string, string | ConsumerSettings>>
    | undefined;
}

/** How messages are pushed to a target. */
export interface ConsumerSettings {
  /** The ARN of a Lambda function; on a local server also an `http://` address of this machine. */
  readonly target: string;
  /** Whose messages are pushed. Default: `main`, the queue or subscription itself. */
  readonly subQueue?: 'main' | 'deadLetter' | 'transferDeadLetter' | undefined;
  /** Messages of one call at most; 1 to 1000. Default: 10. */
  readonly maxBatch?: number | undefined;
  /** How long a call waits for more messages; up to 5 minutes. Default: not at all. */
  readonly batchWindow?: Duration | undefined;
  /** Calls at the same time at most; 1 to 1000. Default: 10. */
  readonly maxConcurrency?: number | undefined;
  /** Messages a second at most; 1 to 100,000. Default: unlimited. */
  readonly maxPerSecond?: number | undefined;
  /** How long a call may take; 1 second to 10 minutes. Default: 1 minute. */
  readonly timeout?: Duration | undefined;
  /** Whether messages are pushed. Default: true. */
  readonly enabled?: boolean | undefined;
}

/** A consumer with its name. */
export interface ConsumerDescription extends ConsumerSettings {
  /** 1 to 50 letters, digits, `.`, `-` and `_`; unique among those of its sub-queue, whatever the case. */
  readonly name: string;
}

/** The settings of queues and topics, to which messages are sent. */
export interface IngressSettings {
  /** Drops a message whose id was sent before. Cannot be changed later. Default: false. */
  readonly requiresDuplicateDetection?: boolean | undefined;
  /** How long ids are remembered; 20 seconds to 7 days. Default: 10 minutes. */
  readonly duplicateDetectionHistoryTimeWindow?: Duration | undefined;
  /** 1024, 2048, 3072, 4096, 5120, 10240, 20480, 40960 or 81920; the first five for a partitioned entity. */
  readonly maxSizeInMegabytes?: number | undefined;
  /** Only in the Premium tier. */
  readonly maxMessageSizeInKilobytes?: number | undefined;
  /** Cannot be changed later. Default: false. */
  readonly enablePartitioning?: boolean | undefined;
  /** Kept and returned; without effect, but refused together with duplicate detection. Default: false. */
  readonly enableExpress?: boolean | undefined;
  /** Kept and returned; without effect. Default: true. */
  readonly supportOrdering?: boolean | undefined;
  /** Kept and returned; without effect. Default: false. */
  readonly isAnonymousAccessible?: boolean | undefined;
  /** Up to 12 shared access policies for this entity alone. */
  readonly authorizationRules?: readonly AuthorizationRule[] | undefined;
}

/** The settings of a queue. */
export interface QueueSettings extends CommonSettings, DeliverySettings, IngressSettings {}

/** The settings of a topic, with its subscriptions. */
export interface TopicSettings extends CommonSettings, IngressSettings {
  /** Kept and returned; without effect. Default: false. */
  readonly filteringMessagesBeforePublishing?: boolean | undefined;
  /** Kept and returned; without effect. Cannot be changed later. Default: false. */
  readonly enableSubscriptionPartitioning?: boolean | undefined;
  /** Subscriptions, as a list or as a record by name. */
  readonly subscriptions?:
    | readonly (string | SubscriptionDescription)[]
    | Readonly<Record<string, SubscriptionSettings>>
    | undefined;
}

/** The settings of a subscription, with its rules. */
export interface SubscriptionSettings extends CommonSettings, DeliverySettings {
  /** Moves a message for which a filter fails to the dead-letter queue. Default: true. */
  readonly deadLetteringOnFilterEvaluationExceptions?: boolean | undefined;
  /**
   * The only rules of the subscription, as a list, or as a record by name, in which a text is an SQL filter:
   * `{ urgent: 'priority > 3' }`. Default: the rule `$Default`, which selects every message.
   */
  readonly rules?:
    | readonly RuleDescription[]
    | Readonly<Record<string, string | RuleSettings>>
    | undefined;
}

/** A shared access policy of a queue or topic. */
export interface AuthorizationRule {
  readonly keyName: string;
  /** At least one; `Manage` includes the others. */
  readonly accessRights: readonly ('Manage' | 'Send' | 'Listen')[];
  /** 44 characters, the Base64 of 32 bytes. Default: a new key. */
  readonly primaryKey?: string | undefined;
  readonly secondaryKey?: string | undefined;
  /** The only kind that exists; accepted because the official client has it. */
  readonly claimType?: 'SharedAccessKey' | undefined;
}
