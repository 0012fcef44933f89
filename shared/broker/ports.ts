import type { EntityDescription } from '../domain/descriptions.ts';
import type { Entity } from '../domain/entity.ts';

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
  /** Removes the entity and all that belongs to it. Throws MessagingEntityNotFound. */
  remove(key: string, now: number): Promise<void>;
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
