import type {
  EntityDescription,
  SubscriptionDescription,
} from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { Rule } from '../../filters/rule.ts';

/** Keeps entities. Keys are lower-case paths from `parseEntityPath`. */
export interface EntityStore {
  /**
   * The entity, at most a lease old, so that messaging costs no extra read. The conditions of the message store's
   * writes decide where that matters.
   */
  find(key: string): Promise<Entity | undefined>;
  /** The entity as it is now. */
  read(key: string): Promise<Entity | undefined>;
  /** Throws MessagingEntityAlreadyExists. */
  create(key: string, name: string, description: EntityDescription, now: number): Promise<Entity>;
  /**
   * Replaces the description and raises the epoch, on the condition that the entity is unchanged.
   * Throws MessagingEntityNotFound, ConflictInProgress.
   */
  update(entity: Entity, description: EntityDescription, now: number): Promise<Entity>;
  /**
   * Removes the entity at once; the sweep deletes its messages later. With `requireMatch`, which throws for a version
   * that must not be removed, it removes only a version that passed. Throws MessagingEntityNotFound.
   */
  remove(key: string, now: number, requireMatch?: (entity: Entity) => void): Promise<void>;
  /** Gives a sub-queue a new, empty log, in constant time. Throws MessagingEntityNotFound. */
  purge(entity: Entity, subQueue: SubQueue, now: number): Promise<Entity>;
  /** The entities of one kind in order of their names; subscriptions of one topic. */
  list(page: ListPage): Promise<Page<Entity>>;
  /**
   * Up to `top` queues and topics in order of their keys, each topic followed by its subscriptions. `after` = the key
   * after which to start, whether its entity exists or not; undefined = at the first.
   */
  page(after: string | undefined, top: number): Promise<Page<Entity>>;
  /** Drops an entity from the cache, so that the next `find` reads it. */
  forget(key: string): void;
}

/** One page of a list, and whether another page follows. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly more: boolean;
}

/** Which page of a list of entities. */
export type ListPage =
  | { readonly kind: 'queue' | 'topic'; readonly skip: number; readonly top: number }
  | {
      readonly kind: 'subscription';
      readonly topic: string;
      readonly skip: number;
      readonly top: number;
    };

/** A subscription and the rules that decide what it gets. */
export interface Subscribed {
  readonly entity: Entity<SubscriptionDescription>;
  readonly rules: readonly Rule[];
}

/** The subscriptions of topics, at most a lease old. */
export interface SubscriptionCatalog {
  of(topic: Entity): Promise<readonly Subscribed[]>;
}

/** Records uses of entities, for AutoDeleteOnIdle (semantics V5). */
export interface Activity {
  /** Records any operation on messages but a send. Writes at most once a minute for each entity, and never waits. */
  used(entity: Entity): void;
}
