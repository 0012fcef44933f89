import type { Consumer } from '../../domain/consumers/consumer.ts';
import type { ConsumerName } from '../../domain/consumers/consumer-key.ts';
import type { Entity } from '../../domain/entities/entity.ts';

/** A consumer that was stored. */
export interface StoredConsumer {
  /** The entity with this consumer. */
  readonly entity: Entity;
  readonly consumer: Consumer;
  /** Whether the entity had none of this name. */
  readonly isNew: boolean;
}

/**
 * Keeps the consumers of queues and subscriptions with the entity itself, so that who knows the entity knows them. They
 * end with the entity. A change holds for every process once it is answered. It is no update of the entity: it ends no
 * lock.
 */
export interface ConsumerStore {
  /**
   * Stores the consumer that `decide` makes of the entity as it is now, on the condition that neither the settings of
   * the entity nor the consumer have changed since; else `decide` is asked again. `decide` throws for what must not
   * be. Throws MessagingEntityNotFound, QuotaExceeded, ConflictInProgress.
   */
  put(entityKey: string, decide: (entity: Entity) => Consumer): Promise<StoredConsumer>;
  /**
   * Removes a consumer, and returns the entity without it. `requireMatch` throws for a version that must not be
   * removed. Throws MessagingEntityNotFound, also for a consumer that does not exist, ConflictInProgress.
   */
  remove(
    entityKey: string,
    consumer: ConsumerName,
    requireMatch: (found: Consumer) => void,
  ): Promise<Entity>;
}
