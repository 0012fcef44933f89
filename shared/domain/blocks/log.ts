import { type Entity, forwardsAll, requiresSession } from '../entities/entity.ts';
import type { SubQueue } from '../entities/entity-path.ts';

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
  /**
   * Set where messages lie by session, that is in the main queue of an entity that requires sessions:
   * the epoch by which their locks are judged. `isForwarded` = scheduled messages that come due are sent on,
   * and never lie in a session here.
   */
  readonly sessions?: { readonly epoch: number; readonly isForwarded?: boolean };
  /** The messages of this session only; absent = what all sessions share, such as scheduled messages. */
  readonly sessionId?: string;
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
    ...(subQueue === 'main' && requiresSession(entity)
      ? { sessions: { epoch: entity.epoch, isForwarded: forwardsAll(entity) } }
      : {}),
  };
}

/** The part of a log that holds the messages of one session. */
export function inSession(log: Log, sessionId: string): Log {
  return { ...log, sessionId };
}

/** The log that a session is part of. */
export function withoutSession({ sessionId: _, ...log }: Log): Log {
  return log;
}
