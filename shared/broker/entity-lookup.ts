import type { Receivable } from '../domain/blocks/log-policy.ts';
import { BrokerError, entityNotFound, invalidOperation } from '../domain/broker-error.ts';
import type { EntityStatus } from '../domain/entities/descriptions.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { EntityPath, SubQueue } from '../domain/entities/entity-path.ts';
import type { BrokerDependencies } from './dependencies.ts';

const NO_SENDING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'SendDisabled']);
const NO_RECEIVING: ReadonlySet<EntityStatus> = new Set(['Disabled', 'ReceiveDisabled']);

/**
 * How many entities of one path an operation tries that finds out, when it stores, that the entity was deleted. More
 * than one is deleted meanwhile only while a local server resets its namespace again and again.
 */
export const ENTITY_READS_MAX = 4;

/** Whether an operation failed because an entity does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'MessagingEntityNotFound';
}

/** The entity that a path names, at most a lease old. Throws MessagingEntityNotFound. */
export async function findEntity(
  dependencies: BrokerDependencies,
  path: EntityPath,
): Promise<Entity> {
  const entity = await dependencies.entities.find(path.key);
  if (entity === undefined) throw entityNotFound(path.name);
  return entity;
}

/**
 * Finds the queue or subscription of an operation on its messages, and records the operation as a use of it (semantics
 * #A20, V5). A subscription gets the default time to live of its topic if that is smaller. Throws
 * MessagingEntityNotFound; InvalidOperation for a topic (semantics T8).
 */
export async function findReceivable(
  dependencies: BrokerDependencies,
  path: EntityPath,
): Promise<Receivable> {
  const entity = await findEntity(dependencies, path);
  requireQueueOrSubscription(entity);
  dependencies.activity.used(entity);
  return path.subscription === undefined
    ? entity
    : await underItsTopic(dependencies, entity, path.subscription.topic);
}

/**
 * A subscription with the default time to live of its topic if that is the smaller one (semantics #A14). Records a use
 * of the topic, since a use of a subscription is also one of its topic (semantics V6).
 */
async function underItsTopic(
  dependencies: BrokerDependencies,
  subscription: Receivable,
  topicName: string,
): Promise<Receivable> {
  const topic = await dependencies.entities.find(topicName.toLowerCase());
  if (topic === undefined) throw entityNotFound(subscription.name);
  dependencies.activity.used(topic);
  const { defaultTimeToLiveMs: ceiling } = topic.description;
  const { defaultTimeToLiveMs: own } = subscription.description;
  if (ceiling === undefined || (own !== undefined && own <= ceiling)) return subscription;
  const { description } = subscription;
  return { ...subscription, description: { ...description, defaultTimeToLiveMs: ceiling } };
}

/** Throws InvalidOperation for a topic. */
export function requireQueueOrSubscription(entity: Entity): asserts entity is Receivable {
  if (entity.description.kind !== 'topic') return;
  throw invalidOperation(
    `Messages of the topic '${entity.name}' are received from its subscriptions.`,
  );
}

/** Whether the entity takes messages (semantics N19). A subscription takes its copies at any time (semantics #156). */
export function isSendable(entity: Entity): boolean {
  return !NO_SENDING.has(entity.description.status);
}

/** Throws MessagingEntityDisabled if the entity takes no messages. */
export function requireSendable(entity: Entity): void {
  if (!isSendable(entity)) throw disabled(entity);
}

/** Throws MessagingEntityDisabled if the entity, whatever its topic, gives no messages (semantics #154, N19, #156). */
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

/** Throws InvalidOperation for an entity that forwards its messages (semantics #124). */
export function requireNotForwarding({ name, description }: Receivable, subQueue: SubQueue): void {
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  const destination = subQueue === 'main' ? forwardTo : forwardDeadLetteredMessagesTo;
  if (destination === undefined || subQueue === 'transferDeadLetter') return;
  throw invalidOperation(
    `Cannot create a message receiver on '${name}': it forwards its messages to '${destination}'.`,
  );
}
