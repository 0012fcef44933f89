import type {
  EntityDescription,
  SubscriptionDescription,
} from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { Rule } from '../../filters/rule.ts';

/** Keeps what is known of entities. Paths are lower-case keys as of `parseEntityPath`. */
export interface EntityStore {
  /**
   * The entity, perhaps a few seconds old (the cache that makes messaging cost no extra read).
   * What must be exact is made so by the message store's conditions.
   */
  find(key: string): Promise<Entity | undefined>;
  /** The entity as it is now. */
  read(key: string): Promise<Entity | undefined>;
  /** Throws MessagingEntityAlreadyExists. */
  create(key: string, name: string, description: EntityDescription, now: number): Promise<Entity>;
  /**
   * Replaces the description and raises the epoch, on the condition that nobody did meanwhile.
   * Throws MessagingEntityNotFound, ConflictInProgress.
   */
  update(entity: Entity, description: EntityDescription, now: number): Promise<Entity>;
  /**
   * Removes the entity at once; the sweep clears what belonged to it. Throws
   * MessagingEntityNotFound.
   */
  remove(key: string, now: number): Promise<void>;
  /** Gives a sub-queue a new, empty log, in constant time. Throws MessagingEntityNotFound. */
  purge(entity: Entity, subQueue: SubQueue, now: number): Promise<Entity>;
  /** The entities of one kind in order of their names; of one topic where its key is given. */
  list(page: ListPage): Promise<readonly Entity[]>;
  /** Drops what is remembered of an entity, so that the next `find` reads. */
  forget(key: string): void;
}

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

/** The subscriptions of topics, perhaps a few seconds old, as entities are. */
export interface SubscriptionCatalog {
  of(topic: Entity): Promise<readonly Subscribed[]>;
}

/** Notices uses of entities, for those that are deleted when idle (semantics V5). */
export interface Activity {
  /** Somebody received, settled or peeked. Costs nothing but now and then, and never waits. */
  used(entity: Entity): void;
}
