import type { EntityDescription } from './descriptions.ts';
import type { SubQueue } from './entity-path.ts';

/** An entity as the broker keeps it: what was said of it, and who it is. */
export interface Entity<Description extends EntityDescription = EntityDescription> {
  /**
   * Internal identity. Delete and create under the same name gives a new one, so that the old
   * messages can never be seen again (semantics #160).
   */
  readonly id: string;
  /** Of a subscription, the internal identity of its topic. */
  readonly parentId?: string;
  /** Lower-case path, unique in the namespace. */
  readonly key: string;
  /** The path as it was spelt at creation. */
  readonly name: string;
  /** Raised by every change of a property, which is what ends all locks held on the entity. */
  readonly epoch: number;
  /** Raised by each purge of a sub-queue: a purge is a change of name for its log, at once. */
  readonly generations: Readonly<Record<SubQueue, number>>;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * Epoch ms of a use other than sending, noted now and then and only where idleness matters;
   * absent before the first.
   */
  readonly accessedAt?: number;
  /** Over how many partitions its messages are spread, from its creation on; absent = one. */
  readonly partitions?: number;
  readonly description: Description;
}

/** Whether an entity is of a kind; its description is then that of the kind. */
export function isOfKind<Kind extends EntityDescription['kind']>(
  entity: Entity,
  kind: Kind,
): entity is Entity<Extract<EntityDescription, { kind: Kind }>> {
  return entity.description.kind === kind;
}

/** Whether an entity sends on what comes to it, or what is dead-lettered in it (semantics #121, #128). */
export function forwards({ description }: Pick<Entity, 'description'>): boolean {
  if (description.kind === 'topic') return false;
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  return forwardTo !== undefined || forwardDeadLetteredMessagesTo !== undefined;
}

/** Whether no message stays in an entity. */
export function forwardsAll({ description }: Pick<Entity, 'description'>): boolean {
  return description.kind !== 'topic' && description.forwardTo !== undefined;
}

/** Whether an entity keeps its messages by session (semantics S1). */
export function requiresSession({ description }: Pick<Entity, 'description'>): boolean {
  return description.kind !== 'topic' && description.requiresSession;
}

/** How many partitions an entity's messages are spread over; a subscription's as many as its topic's. */
export function partitionsOf({ partitions = 1 }: Pick<Entity, 'partitions'>): number {
  return partitions;
}

/** The numbers of an entity's partitions, in order. */
export function partitionNumbers(entity: Pick<Entity, 'partitions'>): readonly number[] {
  return Array.from({ length: partitionsOf(entity) }, (_, partition) => partition);
}
