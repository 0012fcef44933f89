import type { Clock, RandomSource } from '../../domain/clock.ts';
import type { Consumer } from '../../domain/consumers/consumer.ts';
import type { SubscriptionDescription } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { TieredNamespace } from '../../domain/entities/tier.ts';
import type { Rule } from '../../filters/rule.ts';
import type { ConsumerStore } from './consumers.ts';
import type { EntityStore, Page } from './entities.ts';

/** A rule as a client sends it. */
export type RuleInput = Omit<Rule, 'createdAt'>;

/** A rule as it is stored. */
export interface StoredRule {
  readonly rule: Rule;
  /** Raised by every change; random at first, so that no later rule of the same name has it, too. */
  readonly version: number;
  /** Epoch ms. */
  readonly updatedAt: number;
}

/**
 * Keeps the rules of subscriptions. Names are case-insensitive. Rules belong to a subscription's internal id, so they
 * end with it, and a new subscription of the same name starts without them.
 */
export interface RuleStore {
  /**
   * Creates a subscription together with its first rule, both or neither, since a subscription without rules gets no
   * messages. Throws MessagingEntityAlreadyExists.
   */
  createSubscription(
    subscription: NewSubscription,
    rule: Rule,
    now: number,
  ): Promise<Entity<SubscriptionDescription>>;
  /** The rule as it is now. */
  read(subscription: Entity, name: string): Promise<StoredRule | undefined>;
  /** `updatedAt` becomes the rule's `createdAt`. Throws MessagingEntityAlreadyExists. */
  create(subscription: Entity, rule: Rule): Promise<StoredRule>;
  /**
   * Replaces the rule on the condition that its version is still `current.version`.
   * Throws MessagingEntityNotFound, ConflictInProgress.
   */
  update(subscription: Entity, current: StoredRule, rule: Rule, now: number): Promise<StoredRule>;
  /**
   * Removes a rule. With `requireMatch`, which throws for a version that must not be removed, it removes only a version
   * that passed. Throws MessagingEntityNotFound, ConflictInProgress.
   */
  remove(
    subscription: Entity,
    name: string,
    requireMatch?: (stored: StoredRule) => void,
  ): Promise<void>;
  /** All rules of one subscription, in any order. */
  list(subscription: Entity): Promise<readonly StoredRule[]>;
  /**
   * Up to `most` rules of each of many subscriptions, by the id of the subscription, in order of their names. Those of
   * one topic are read together if they are few.
   */
  listOf(
    subscriptions: readonly Entity[],
    most: number,
  ): Promise<ReadonlyMap<string, Page<StoredRule>>>;
}

/** A subscription to create. */
export interface NewSubscription {
  /** Lower-case `topic/subscriptions/name`. */
  readonly key: string;
  readonly name: string;
  readonly description: SubscriptionDescription;
}

/** Counts for runtime properties. All may be a little late (semantics N23). */
export interface EntityCounts {
  /** The counts of each of the entities, in the order given. `filters` = whether to count those of topics, too. */
  of(entities: readonly Entity[], filters?: boolean): Promise<readonly RuntimeCounts[]>;
}

/** The runtime counts of an entity. */
export interface RuntimeCounts {
  readonly messages: MessageCounts;
  /** 0 for all but topics. */
  readonly subscriptions: number;
  /** Of a topic, if it was asked for and the topics of the report do not have too many rules (semantics G29). */
  readonly filters?: FilterCounts | undefined;
  /** A queue in which it is certain that nothing was ever stored, so that nothing was read to count. */
  readonly isUnused?: true;
}

/** The numbers of filters in the rules of all subscriptions of a topic. */
export interface FilterCounts {
  /** True and False filters are among them. */
  readonly sql: number;
  readonly correlation: number;
}

/** What quotas limit. Partitioned queues and topics count twice; true and false filters count nowhere. */
export type QuotaName =
  | 'entities'
  | 'partitioned'
  | 'subscriptions'
  | 'sqlFilters'
  | 'correlationFilters';

/** A limit of how many there may be. */
export interface Quota {
  readonly name: QuotaName;
  readonly limit: number;
}

/** Where a quota counts: in one topic, or in the namespace. */
export interface QuotaScope {
  readonly topicId?: string;
}

/** Numbers for quotas, which cost the same however many there are. */
export interface QuotaCounts {
  /**
   * About how many there are for each quota of one scope. A number that reaches its limit is exact, so that no
   * creation below it is refused.
   */
  numbersOf(scope: QuotaScope, quotas: readonly Quota[]): Promise<readonly number[]>;
  /** Notes that one more was created for each of the quotas. */
  noteCreated(scope: QuotaScope, quotas: readonly Quota[]): Promise<void>;
}

/** The numbers of messages in an entity, by state. */
export interface MessageCounts {
  /** Bytes. */
  readonly size: number;
  /** Available, locked, deferred, or scheduled and due; of a topic always 0. */
  readonly active: number;
  /** Those of the active ones that are deferred. */
  readonly deferred: number;
  readonly deadLetter: number;
  /** Of a subscription always 0: its messages wait in the topic. */
  readonly scheduled: number;
  readonly transfer: number;
  readonly transferDeadLetter: number;
  /** Whether there are too many messages to count all of them, so that the numbers are extrapolated. */
  readonly isEstimate: boolean;
  /** Epoch ms of the last known send, receive, settlement or peek; absent before the first. */
  readonly accessedAt?: number;
}

/** What the dispatcher, which pushes messages to the targets of consumers, has to do with management. */
export interface PushManagement {
  /**
   * The sentence about why a consumer may not have a target; undefined = it may. `current` = the consumer that gets it;
   * undefined = a new one. Not asked of a target that the consumer has already.
   */
  readonly allowsTarget: (
    target: string,
    entity: Entity,
    current: Consumer | undefined,
  ) => string | undefined;
}

/** What the dispatcher does for a consumer. */
export interface ConsumerState {
  /** Whether it calls the target, or waits for messages to do so. */
  readonly isRunning: boolean;
  /** What went wrong last; absent after a call that succeeded. */
  readonly lastError?: string;
  /** When it did, epoch ms. */
  readonly lastErrorAt?: number;
  /** When it calls the target again after failures, epoch ms. */
  readonly retryAt?: number;
}

/** The dependencies of management. */
export interface ManagementDependencies extends PushManagement {
  /** Hears of a queue or subscription whose consumers, or whose settings beside them, have changed. Never throws. */
  readonly onConsumersChanged: (entity: Entity) => void | Promise<void>;
  /** What the dispatcher does for a consumer; undefined = not known. Absent = it does not say. Never throws. */
  readonly stateOf?: (entity: Entity, consumer: Consumer) => Promise<ConsumerState | undefined>;
  readonly entities: EntityStore;
  readonly rules: RuleStore;
  readonly consumers: ConsumerStore;
  readonly counts: EntityCounts;
  readonly quotaCounts: QuotaCounts;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Its tier bounds the settings of entities; absent = Standard. */
  readonly namespace?: TieredNamespace;
  /** Forwards the messages that already wait in an entity whose ForwardTo was just set. */
  readonly beginForwarding: (entity: Entity) => Promise<void>;
}
