import { CONSUMER_LIMITS, type Consumer } from '../../../shared/domain/consumers/consumer.ts';
import {
  type EntityDescription,
  QUEUE_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import type { LockedMessage, Message } from '../../../shared/domain/messages/message.ts';
import type { Batch } from '../../../shared/push/ports.ts';

/** The instant of the calls in these tests. */
export const NOW = Date.UTC(2030, 0, 2, 3, 4, 5, 678);

export const FACTS = { region: 'eu-central-1', account: '123456789012', now: NOW };

export function entity(name: string, description: EntityDescription = QUEUE_DEFAULTS): Entity {
  return {
    id: 'e1',
    key: name.toLowerCase(),
    name,
    epoch: 0,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: 0,
    updatedAt: 0,
    description,
  };
}

export function consumer(changes: Partial<Consumer> = {}): Consumer {
  return {
    name: 'mail',
    subQueue: 'main',
    id: 'c1',
    version: 1,
    createdAt: 0,
    updatedAt: 0,
    target: 'arn:aws:lambda:eu-central-1:123456789012:function:mail',
    maxBatch: CONSUMER_LIMITS.maxBatchDefault,
    batchWindowMs: 0,
    maxConcurrency: CONSUMER_LIMITS.maxConcurrencyDefault,
    timeoutMs: CONSUMER_LIMITS.timeoutMsDefault,
    enabled: true,
    ...changes,
  };
}

/** A locked message, with its first delivery. */
export function locked(
  message: Partial<Message> = {},
  stored: Partial<LockedMessage> = {},
): LockedMessage {
  return {
    message: { messageId: 'm-1', body: Buffer.from('hello'), properties: {}, ...message },
    sequenceNumber: 7n,
    enqueuedAt: NOW - 5000,
    failedDeliveries: 0,
    state: 'Active',
    lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547',
    lockedUntil: NOW + 60_000,
    ...stored,
  };
}

export function batch(messages: readonly LockedMessage[], changes: Partial<Batch> = {}): Batch {
  return { entity: entity('Orders'), consumer: consumer(), messages, ...changes };
}

/** A batch of messages with these sequence numbers. */
export const numbered = (...numbers: readonly number[]): Batch =>
  batch(numbers.map((number) => locked({}, { sequenceNumber: BigInt(number) })));
