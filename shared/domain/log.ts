import type { Entity } from './entity.ts';
import type { SubQueue } from './entity-path.ts';

/** One ordered run of blocks: a sub-queue of a partition of an entity, since its last purge. */
export interface Log {
  readonly entityId: string;
  /** The entity whose counter numbers the messages: of a subscription its topic. */
  readonly counterId: string;
  /** The key of the entity, for those who come to a log from the outside. */
  readonly entityKey: string;
  readonly partition: number;
  readonly subQueue: SubQueue;
  readonly generation: number;
}

/** The log that a sub-queue of an entity has in a partition now. */
export function logOf(entity: Entity, subQueue: SubQueue, partition: number): Log {
  return {
    entityId: entity.id,
    counterId: entity.parentId ?? entity.id,
    entityKey: entity.key,
    partition,
    subQueue,
    generation: entity.generations[subQueue],
  };
}
