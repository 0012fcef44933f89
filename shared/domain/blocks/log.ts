import { type Entity, forwardsMessages, isConsumed, requiresSession } from '../entities/entity.ts';
import type { SubQueue } from '../entities/entity-path.ts';

/**
 * An ordered sequence of blocks: one sub-queue of one partition of an entity, since the last purge. With `sessionId` it
 * is a session log: the blocks of one session, a range of the same item collection, with a `logName` of its own.
 */
export interface Log {
  readonly entityId: string;
  /** The id of the entity whose counter numbers the messages; for a subscription, its topic's id. */
  readonly headerEntityId: string;
  /** The key (lower-case path) of the entity, by which the sweep and an activation read it again. */
  readonly entityKey: string;
  readonly partition: number;
  readonly subQueue: SubQueue;
  /** How often the sub-queue was purged. */
  readonly generation: number;
  /** A consumer of the sub-queue is enabled, so that a dispatcher pushes its messages (semantics J6). */
  readonly isConsumed?: true;
  /**
   * Set if messages are stored by session, that is, in the main queue of an entity that requires sessions.
   * `epoch` is the entity's: it decides whether session locks are live. `isForwarded` = the entity forwards
   * its messages, so scheduled messages that become due leave it and join no session here.
   */
  readonly sessions?: { readonly epoch: number; readonly isForwarded?: boolean };
  /** Set = the log of this session; absent = what all sessions share, such as scheduled messages. */
  readonly sessionId?: string;
}

/** The current log of a sub-queue of an entity in one partition. */
export function logOf(entity: Entity, subQueue: SubQueue, partition: number): Log {
  return {
    entityId: entity.id,
    headerEntityId: entity.parentId ?? entity.id,
    entityKey: entity.key,
    partition,
    subQueue,
    generation: entity.generations[subQueue],
    ...(isConsumed(entity, subQueue) ? { isConsumed: true } : {}),
    ...(subQueue === 'main' && requiresSession(entity)
      ? { sessions: { epoch: entity.epoch, isForwarded: forwardsMessages(entity) } }
      : {}),
  };
}

/** The part of a log with the messages of one session. */
export function logOfSession(log: Log, sessionId: string): Log {
  return { ...log, sessionId };
}

/** The log that all sessions of the partition share. */
export function withoutSession({ sessionId: _, ...log }: Log): Log {
  return log;
}
