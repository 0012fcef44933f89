import type { Receivable } from '../domain/blocks/log-policy.ts';
import { BrokerError, entityNotFound } from '../domain/broker-error.ts';
import type { EntityStatus } from '../domain/entities/descriptions.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { EntityPath, SubQueue } from '../domain/entities/entity-path.ts';
import type { BrokerParts } from './dependencies.ts';

const NO_SENDING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'SendDisabled']);
const NO_RECEIVING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'ReceiveDisabled']);

/** The entity a path names. Throws MessagingEntityNotFound. */
export async function findEntity(parts: BrokerParts, path: EntityPath): Promise<Entity> {
  const entity = await parts.entities.find(path.key);
  if (entity === undefined) throw entityNotFound(path.name);
  return entity;
}

/** The entity that a path lets one receive from. Throws MessagingEntityNotFound, InvalidOperation. */
export async function findReceivable(parts: BrokerParts, path: EntityPath): Promise<Receivable> {
  const entity = await findEntity(parts, path);
  if (!isReceivable(entity)) {
    throw new BrokerError(
      'InvalidOperation',
      `Messages of the topic '${path.name}' are received from its subscriptions.`,
    );
  }
  parts.activity.used(entity);
  return path.subscription === undefined
    ? entity
    : await underItsTopic(parts, entity, path.subscription.topic);
}

/**
 * A subscription as its topic makes it: the topic's default time to live applies where it is the
 * smaller one (semantics #A14). Uses of a subscription are uses of its topic.
 */
async function underItsTopic(
  parts: BrokerParts,
  subscription: Receivable,
  topicName: string,
): Promise<Receivable> {
  const topic = await parts.entities.find(topicName.toLowerCase());
  if (topic === undefined) throw entityNotFound(subscription.name);
  parts.activity.used(topic);
  const { defaultTimeToLiveMs: ceiling } = topic.description;
  const { defaultTimeToLiveMs: own } = subscription.description;
  if (ceiling === undefined || (own !== undefined && own <= ceiling)) return subscription;
  const { description } = subscription;
  return { ...subscription, description: { ...description, defaultTimeToLiveMs: ceiling } };
}

function isReceivable(entity: Entity): entity is Receivable {
  return entity.description.kind !== 'topic';
}

/** Whether the entity takes messages (semantics N19). */
export function isSendable(entity: Entity): boolean {
  return !NO_SENDING.has(entity.description.status);
}

/** Throws MessagingEntityDisabled where the entity takes no messages. */
export function requireSendable(entity: Entity): void {
  if (!isSendable(entity)) throw disabled(entity);
}

/** Throws MessagingEntityDisabled where the entity hands out no messages (semantics N19). */
export function requireReceivable(entity: Entity): void {
  if (NO_RECEIVING.has(entity.description.status)) throw disabled(entity);
}

function disabled(entity: Entity): BrokerError {
  return new BrokerError(
    'MessagingEntityDisabled',
    `Messaging entity '${entity.name}' is currently disabled.`,
    { subCode: '40301' },
  );
}

/** Refuses to hand out what an entity forwards (semantics #124). Throws InvalidOperation. */
export function requireNotForwarding({ name, description }: Receivable, subQueue: SubQueue): void {
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  const destination = subQueue === 'main' ? forwardTo : forwardDeadLetteredMessagesTo;
  if (destination === undefined || subQueue === 'transferDeadLetter') return;
  throw new BrokerError(
    'InvalidOperation',
    `Cannot create a message receiver on '${name}': it forwards its messages to '${destination}'.`,
  );
}
