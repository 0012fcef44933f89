import type { QueueDescription, SubscriptionDescription } from '../entities/descriptions.ts';
import type { Entity } from '../entities/entity.ts';
import type { SubQueue } from '../entities/entity-path.ts';
import type { BlockRules } from './block.ts';
import { type Log, logOf } from './log.ts';

/** A queue or subscription, which can be received from. */
export type Receivable = Entity<QueueDescription | SubscriptionDescription>;

/** What happens to messages of a log that have expired or used up their deliveries. */
export interface LogPolicy {
  readonly rules: BlockRules;
  /** What happens to expired messages (semantics #A15). Messages with used-up deliveries are always dead-lettered. */
  readonly onExpiry: 'drop' | 'deadLetter';
  readonly deadLetterLog: Log;
}

/**
 * The policy of a sub-queue of an entity in one partition. In dead-letter queues no default time to live applies. What
 * the entity says now also holds for messages that have expired already (semantics #C8).
 */
export function policyOf(entity: Receivable, subQueue: SubQueue, partition: number): LogPolicy {
  const { description } = entity;
  const isDeadLetter = subQueue !== 'main';
  const rules: BlockRules = {
    epoch: entity.epoch,
    isDeadLetter,
    maxDeliveryCount: description.maxDeliveryCount,
    ...(description.defaultTimeToLiveMs === undefined || isDeadLetter
      ? {}
      : { defaultTimeToLiveMs: description.defaultTimeToLiveMs }),
  };
  return {
    rules,
    onExpiry: description.deadLetteringOnMessageExpiration ? 'deadLetter' : 'drop',
    deadLetterLog: logOf(entity, 'deadLetter', partition),
  };
}
