import type { Consumer } from '../consumers/consumer.ts';
import type { EntityDescription } from './descriptions.ts';
import type { SubQueue } from './entity-path.ts';

/** A queue, topic or subscription as the broker stores it. */
export interface Entity<Description extends EntityDescription = EntityDescription> {
  /**
   * Internal id. An entity that is created again under the same name has a new id, so that messages of the
   * old entity never reappear (semantics #160).
   */
  readonly id: string;
  /** For a subscription, the id of its topic. */
  readonly parentId?: string;
  /** Lower-case path, unique in the namespace. */
  readonly key: string;
  /** The path in the spelling of its creation. */
  readonly name: string;
  /** Increases with every update, even one that changes nothing, and so ends all locks on the entity's messages. */
  readonly epoch: number;
  /**
   * By sub-queue, increases with each purge. The log's name contains it, so a purge takes effect at once
   * (semantics L15).
   */
  readonly generations: Readonly<Record<SubQueue, number>>;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * Epoch ms of the latest known use other than a send. It is written at intervals, and only for entities
   * that are deleted on idle, and by each purge; absent before the first use.
   */
  readonly accessedAt?: number;
  /** Of a topic: it had no subscription so far, and was not updated. Processes then keep no subscriptions of it. */
  readonly neverSubscribed?: true;
  /** The number of partitions, fixed at creation; absent = one. */
  readonly partitions?: number;
  /** How messages are pushed to targets, by `consumerKey`; of queues and subscriptions only (semantics J1). */
  readonly consumers?: Readonly<Record<string, Consumer>>;
  readonly description: Description;
}

/** Whether an entity is of a kind. Narrows the type of its description. */
export function isOfKind<Kind extends EntityDescription['kind']>(
  entity: Entity,
  kind: Kind,
): entity is Entity<Extract<EntityDescription, { kind: Kind }>> {
  return entity.description.kind === kind;
}

/** Whether an entity forwards its messages, or its dead letters, or both (semantics #121, #128). */
export function forwardsAnything({ description }: Pick<Entity, 'description'>): boolean {
  if (description.kind === 'topic') return false;
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  return forwardTo !== undefined || forwardDeadLetteredMessagesTo !== undefined;
}

/** Whether an entity forwards its messages, so that none stays in it. */
export function forwardsMessages({ description }: Pick<Entity, 'description'>): boolean {
  return description.kind !== 'topic' && description.forwardTo !== undefined;
}

/** Whether an entity stores its messages by session (semantics S1). */
export function requiresSession({ description }: Pick<Entity, 'description'>): boolean {
  return description.kind !== 'topic' && description.requiresSession;
}

/** The consumers of an entity, by key. */
export function consumersOf({
  consumers = {},
}: Pick<Entity, 'consumers'>): Readonly<Record<string, Consumer>> {
  return consumers;
}

/** Whether messages of a sub-queue are pushed: one of its consumers is enabled (semantics J6). */
export function isConsumed(entity: Pick<Entity, 'consumers'>, subQueue: SubQueue): boolean {
  return Object.values(consumersOf(entity)).some((one) => one.enabled && one.subQueue === subQueue);
}

/** The number of partitions of an entity; a subscription has as many as its topic. */
export function partitionsOf({ partitions = 1 }: Pick<Entity, 'partitions'>): number {
  return partitions;
}

/** The numbers of an entity's partitions, in ascending order. */
export function partitionNumbers(entity: Pick<Entity, 'partitions'>): readonly number[] {
  return Array.from({ length: partitionsOf(entity) }, (_, partition) => partition);
}
