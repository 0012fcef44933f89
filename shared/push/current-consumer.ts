import type { Consumer } from '../domain/consumers/consumer.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { type EntityPath, parseEntityPath } from '../domain/entities/entity-path.ts';
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
