import type { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { IBroker } from '../constructs/broker-ref.ts';
import type { IQueue, ITopic } from './entity-ref.ts';

/** What all declared entities have. */
export interface EntityProps {
  /**
   * What becomes of the entity when it leaves its stack, or is replaced because it got another name. `DESTROY` deletes
   * it with its messages. Default: `RETAIN_ON_UPDATE_OR_DELETE` where the broker keeps its data (`keepData`), otherwise
   * `DESTROY`. Not `SNAPSHOT`.
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * Takes over an entity that exists already, with its messages, if no other stack has declared it. Its settings become
   * the declared ones; those that are fixed at creation must be the same. The stack does not delete what it has taken
   * over. Default: false, an existing one is refused.
   */
  readonly adopt?: boolean;
  /**
   * The name of a stack, usually one that is gone, whose retained entity this stack takes over. The error of a
   * deployment without it says the name. Default: none.
   */
  readonly adoptFrom?: string;
  /** The time to live of messages that have none or a longer one. Default: unlimited. */
  readonly defaultMessageTimeToLive?: Duration;
  /** Deletes the entity after this time without use; at least 5 minutes. Default: never. */
  readonly autoDeleteOnIdle?: Duration;
  /** Kept and returned; without effect. Default: true. */
  readonly enableBatchedOperations?: boolean;
  /**
   * What the entity accepts: `SendDisabled` and `ReceiveDisabled` stop one direction, `Disabled` both. Default:
   * `Active`.
   */
  readonly status?: 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled';
  /** Up to 1,024 characters of your own. */
  readonly userMetadata?: string;
}

/** The settings of queues and subscriptions, from which messages are received. */
export interface DeliveryProps {
  /** How long a receiver holds a message; 5 seconds to 5 minutes. Default: 1 minute. */
  readonly lockDuration?: Duration;
  /** Moves a message to the dead-letter queue after so many deliveries, at least 1. Default: 10. */
  readonly maxDeliveryCount?: number;
  /** Delivers messages by session only. Fixed at creation. Default: false. */
  readonly requiresSession?: boolean;
  /** Moves expired messages to the dead-letter queue instead of deleting them. Default: false. */
  readonly deadLetteringOnMessageExpiration?: boolean;
  /** The queue or topic of the same broker to which all messages are forwarded. */
  readonly forwardTo?: IQueue | ITopic;
  /** The queue or topic of the same broker to which dead letters are forwarded. */
  readonly forwardDeadLetteredMessagesTo?: IQueue | ITopic;
}

/** The settings of queues and topics, to which messages are sent. */
export interface IngressProps {
  /** The broker. Default: the scope, or the nearest broker around it. */
  readonly broker?: IBroker;
  /** Drops a message whose id was sent before. Fixed at creation. Default: false. */
  readonly requiresDuplicateDetection?: boolean;
  /** How long ids are remembered; 20 seconds to 7 days. Default: 10 minutes. */
  readonly duplicateDetectionHistoryTimeWindow?: Duration;
  /** 1024, 2048, 3072, 4096, 5120, 10240, 20480, 40960 or 81920; the first five for a partitioned entity. */
  readonly maxSizeInMegabytes?: number;
  /** Only in the Premium tier. */
  readonly maxMessageSizeInKilobytes?: number;
  /** Spreads the messages over 16 logs. Fixed at creation. Default: false. */
  readonly enablePartitioning?: boolean;
  /** Kept and returned; without effect, but refused together with duplicate detection. Default: false. */
  readonly enableExpress?: boolean;
  /** Kept and returned; without effect. Default: true. */
  readonly supportOrdering?: boolean;
  /** Kept and returned; without effect. Default: false. */
  readonly isAnonymousAccessible?: boolean;
}

/** The properties of a queue. */
export interface QueueProps extends EntityProps, DeliveryProps, IngressProps {
  /**
   * The name: 1 to 260 letters, digits, `.`, `-`, `_` and `/`; unique among queues and topics, whatever the case.
   * Another name replaces the queue. Default: the id of the construct.
   */
  readonly queueName?: string;
}

/** The properties of a topic. */
export interface TopicProps extends EntityProps, IngressProps {
  /**
   * The name: 1 to 260 letters, digits, `.`, `-`, `_` and `/`; unique among queues and topics, whatever the case.
   * Another name replaces the topic. Default: the id of the construct.
   */
  readonly topicName?: string;
  /** Kept and returned; without effect. Default: false. */
  readonly filteringMessagesBeforePublishing?: boolean;
  /** Kept and returned; without effect. Fixed at creation. Default: false. */
  readonly enableSubscriptionPartitioning?: boolean;
}

/** The properties of a subscription. */
export interface SubscriptionProps extends EntityProps, DeliveryProps {
  /** The topic. Default: the scope, or the nearest topic around it. */
  readonly topic?: ITopic;
  /**
   * The name: 1 to 50 letters, digits, `.`, `-` and `_`; unique in the topic, whatever the case. Another name, or
   * another topic, replaces the subscription. Default: the id of the construct.
   */
  readonly subscriptionName?: string;
  /** Moves a message for which a filter fails to the dead-letter queue. Default: true. */
  readonly deadLetteringOnFilterEvaluationExceptions?: boolean;
}
