import { BrokerError } from '../domain/broker-error.ts';
import type { Consumer } from '../domain/consumers/consumer.ts';
import { parseConsumerKey } from '../domain/consumers/consumer-key.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { type EntityPath, parseEntityPath, pathOf } from '../domain/entities/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import type { LockedMessage } from '../domain/messages/message.ts';
import { printedSize } from '../domain/messages/printed-size.ts';
import type { ConsumerReference } from './ports.ts';

/** A consumer as it is now. */
export interface Current {
  readonly entity: Entity;
  readonly consumer: Consumer;
  readonly path: EntityPath;
}

/** The consumer that a reference names in an entity; undefined = it is gone. */
export function currentOf(
  entity: Entity | undefined,
  { entityId, consumer: key }: ConsumerReference,
): Current | undefined {
  const consumer = entity?.id === entityId ? entity.consumers?.[key] : undefined;
  if (entity === undefined || consumer === undefined) return undefined;
  return { entity, consumer, path: pathOfConsumer(entity, consumer) };
}

/** The path of the queue or dead-letter queue, and the name of its consumer, in lower case. */
export function placeOf({ entityKey, consumer }: ConsumerReference) {
  const { subQueue = 'main', name = consumer } = parseConsumerKey(consumer) ?? {};
  return { path: pathOf(entityKey, subQueue), name };
}

/** Whether an operation was refused because the entity is deleted or disabled, which is no fault. */
export function isOver(error: unknown): boolean {
  return (
    error instanceof BrokerError &&
    (error.code === 'MessagingEntityNotFound' || error.code === 'MessagingEntityDisabled')
  );
}

/** The path of the queue whose messages a consumer gets. */
export function pathOfConsumer(entity: Entity, { subQueue }: Consumer): EntityPath {
  return { ...parseEntityPath(entity.name), subQueue };
}

/** Bytes that messages take in an answer, with their properties. */
export function bytesOf(messages: readonly LockedMessage[]): number {
  return messages.reduce((sum, { message }) => sum + printedSize(message), 0);
}

/** How long a lock on a message of the entity lasts, ms. */
export function lockMsOf({ description }: Entity): number {
  return description.kind === 'topic' ? LIMITS.lockMsDefault : description.lockMs;
}
