import { type BrokerError, entityNotFound, invalidOperation } from '../broker-error.ts';
import { type Entity, forwardsMessages } from '../entities/entity.ts';
import { pathOf, type SubQueue } from '../entities/entity-path.ts';
import type { ConsumerName } from './consumer-key.ts';

/** MessagingEntityNotFound: the entity has no such consumer. */
export function consumerNotFound(
  { name: entity }: Pick<Entity, 'name'>,
  { subQueue, name }: ConsumerName,
): BrokerError {
  return entityNotFound(`${pathOf(entity, subQueue)}/Consumers/${name}`);
}

/** Throws InvalidOperation for an entity whose sub-queue cannot have consumers (semantics J2). */
export function requireMayBeConsumed(entity: Entity, subQueue: SubQueue): void {
  requireHasMessages(entity);
  const { name, description } = entity;
  if (subQueue !== 'main' || description.kind === 'topic' || !forwardsMessages(entity)) return;
  throw invalidOperation(
    `'${name}' forwards its messages to '${description.forwardTo}', so a consumer would get none: give the consumer to '${description.forwardTo}', or remove ForwardTo.`,
  );
}

/** Throws InvalidOperation for a topic, which has no messages of its own. */
export function requireHasMessages({ name, description }: Entity): void {
  if (description.kind !== 'topic') return;
  throw invalidOperation(
    `'${name}' is a topic, which has no consumers: give them to its subscriptions.`,
  );
}

/**
 * Throws InvalidOperation if an update lets an entity forward its messages that has consumers of them (semantics J2).
 * `forwardTo` = what the update sets.
 */
export function requireNoneConsumed(entity: Entity, forwardTo: string | undefined): void {
  if (forwardTo === undefined || forwardsMessages(entity)) return;
  const [consumer] = Object.values(entity.consumers ?? {}).filter((one) => one.subQueue === 'main');
  if (consumer === undefined) return;
  throw invalidOperation(
    `'${entity.name}' cannot forward its messages to '${forwardTo}', because its consumer '${consumer.name}' would get none: remove its consumers first.`,
  );
}
