import type { QueueDescription, SubscriptionDescription } from '../entities/descriptions.ts';
import type { Entity } from '../entities/entity.ts';
import type { SubQueue } from '../entities/entity-path.ts';
import type { BlockRules } from './block.ts';
import { type Log, logOf } from './log.ts';

/** An entity one can receive from. */
export type Receivable = Entity<QueueDescription | SubscriptionDescription>;

/** What becomes of messages that are over, in a log that has a dead-letter queue. */
export interface LogPolicy {
  readonly rules: BlockRules;
  readonly expired: 'drop' | 'deadLetter';
  readonly deadLetterLog: Log;
}

/** What holds for the messages of a sub-queue of an entity. */
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
    expired: description.deadLetteringOnMessageExpiration ? 'deadLetter' : 'drop',
    deadLetterLog: logOf(entity, 'deadLetter', partition),
  };
}
