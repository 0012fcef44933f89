import type { Clock, RandomSource } from '../../domain/clock.ts';
import type { SubscriptionDescription } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { TieredNamespace } from '../../domain/entities/tier.ts';
import type { Rule } from '../../filters/rule.ts';
import type { EntityStore } from './entities.ts';

/** A rule as a client sends it. */
export type RuleInput = Omit<Rule, 'createdAt'>;

/** A rule as it is stored. */
export interface StoredRule {
  readonly rule: Rule;
  /** Raised by every change; 0 at first. */
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
  /** Throws MessagingEntityNotFound. */
  remove(subscription: Entity, name: string): Promise<void>;
  /** All rules of one subscription, in any order. */
  list(subscription: Entity): Promise<readonly StoredRule[]>;
}

/** A subscription to create. */
export interface NewSubscription {
  /** Lower-case `topic/subscriptions/name`. */
  readonly key: string;
  readonly name: string;
  readonly description: SubscriptionDescription;
}

/** Counts for quotas and for runtime properties. All may be a little late (semantics N23). */
export interface EntityCounts {
  /** Messages in each of the entities, in the order given. */
  messages(entities: readonly Entity[]): Promise<readonly MessageCounts[]>;
  /** Queues and topics of the namespace, and how many of them are partitioned. */
  entities(): Promise<{ readonly total: number; readonly partitioned: number }>;
  /** Subscriptions of each of the topics, given by key, in the order given. */
  subscriptions(topics: readonly string[]): Promise<readonly number[]>;
  /** Filters of all subscriptions of one topic, given by key; true and false filters count nowhere. */
  filters(topic: string): Promise<{ readonly sql: number; readonly correlation: number }>;
}

/** The numbers of messages in an entity, by state. */
export interface MessageCounts {
  /** Bytes. */
  readonly size: number;
  /** Available, locked, deferred, or scheduled and due; of a topic always 0. */
  readonly active: number;
  readonly deadLetter: number;
  /** Of a subscription always 0: its messages wait in the topic. */
  readonly scheduled: number;
  readonly transfer: number;
  readonly transferDeadLetter: number;
  /** Epoch ms of the last known send, receive, settlement or peek; absent before the first. */
  readonly accessedAt?: number;
}

/** The dependencies of management. */
export interface ManagementDependencies {
  readonly entities: EntityStore;
  readonly rules: RuleStore;
  readonly counts: EntityCounts;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Its tier bounds the settings of entities; absent = Standard. */
  readonly namespace?: TieredNamespace;
  /** Forwards the messages that already wait in an entity whose ForwardTo was just set. */
  readonly beginForwarding: (entity: Entity) => Promise<void>;
}

/** One page of a list, and whether another page follows. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly more: boolean;
}
