import { logOf } from '../../domain/blocks/log.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';
import { type Entity, partitionNumbers } from '../../domain/entities/entity.ts';
import { idleMsOf, nextIdleCheck } from '../../domain/entities/idle.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Document, DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import type { DueWorkIndex } from '../maintenance/due-work-index.ts';
import { headerKey } from '../schema/message-keys.ts';
import { isSame } from './entity-changes.ts';

/** The keys of the partition headers of an entity. */
export function headerKeys(entity: Entity): readonly ItemKey[] {
  return partitionNumbers(entity).map((partition) => headerKey(entity.id, partition));
}

/** The writes that create the partition headers of a new entity. */
export function newHeaders(messagesTable: string, entity: Entity): readonly DocumentWrite[] {
  return headerKeys(entity).map((key) => ({
    Put: {
      TableName: messagesTable,
      Item: { ...key, n: 0 },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
  }));
}

/**
 * The write that lets the sweep check whether an entity that was just created or updated is idle; none for an entity
 * that is never deleted when idle.
 */
export function idleChecks(
  dueWork: Pick<DueWorkIndex, 'putOf'>,
  entity: Entity,
): readonly DocumentWrite[] {
  const idleMs = idleMsOf(entity);
  if (idleMs === undefined) return [];
  const { updatedAt } = entity;
  const at = nextIdleCheck(entity, idleMs, updatedAt + idleMs, updatedAt);
  return [dueWork.putOf(logOf(entity, 'main', 0), at)];
}

/**
 * The write that makes the creation of a subscription depend on its topic, whose item is `at`. `any` = the topic
 * exists; `first` = and it never had a subscription, which this write ends.
 */
export function topicCheck(
  at: { readonly TableName: string; readonly Key: ItemKey },
  { id }: Entity,
  which: 'first' | 'any',
): DocumentWrite {
  const names = { ExpressionAttributeNames: { '#id': 'id' } };
  const checked = { ...at, ...names, ExpressionAttributeValues: { ':id': id } };
  if (which === 'any') return { ConditionCheck: { ...checked, ConditionExpression: '#id = :id' } };
  return {
    Update: {
      ...checked,
      UpdateExpression: 'REMOVE neverSubscribed',
      ConditionExpression: '#id = :id AND attribute_exists(neverSubscribed)',
    },
  };
}

/**
 * The write that replaces the description and the generations of an entity, unless another process has done so since
 * `entity` was read. A use that was stored since stays, except that a purge is a later one.
 */
export function replacementOf(
  table: string,
  key: ItemKey,
  entity: Entity,
  changed: Entity,
): DocumentWrite {
  const isUse = changed.accessedAt !== entity.accessedAt;
  return {
    Update: {
      TableName: table,
      Key: key,
      UpdateExpression: `SET description = :description, generations = :next, epoch = :nextEpoch, updatedAt = :updatedAt${isUse ? ', accessedAt = :usedAt' : ''} REMOVE neverSubscribed`,
      ConditionExpression: '#id = :id AND epoch = :epoch AND generations = :generations',
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: {
        ':id': entity.id,
        ':epoch': entity.epoch,
        ':generations': entity.generations,
        ':description': changed.description,
        ':next': changed.generations,
        ':nextEpoch': changed.epoch,
        ':updatedAt': changed.updatedAt,
        ...(isUse && { ':usedAt': changed.accessedAt }),
      },
    },
  };
}

/** Whether that write took effect. It leaves the consumers alone, which others may change at the same time. */
export function isReplaced(stored: Entity | undefined, changed: Entity): boolean {
  return stored !== undefined && isSame(replacedPart(stored), replacedPart(changed));
}

function replacedPart({ accessedAt: _, consumers: __, ...entity }: Entity): object {
  return entity;
}

/** The entity in a document. */
export function fromDocument(document: Document): Entity {
  const { pk: _, sk: __, ...entity } = document;
  return entity as unknown as Entity;
}

/** A new entity; `topic` for a subscription. */
export function newEntity({
  topic,
  now,
  ...given
}: Pick<Entity, 'id' | 'key' | 'name' | 'description'> & {
  readonly topic: Entity | undefined;
  readonly now: number;
}): Entity {
  return {
    ...given,
    ...(topic === undefined ? {} : { parentId: topic.id }),
    epoch: 1,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: now,
    updatedAt: now,
    ...partitionsOfNew(given.description, topic),
    ...(given.description.kind === 'topic' ? { neverSubscribed: true } : {}),
  };
}

/** How many partitions a new entity gets: a subscription as many as its topic. */
function partitionsOfNew(
  description: EntityDescription,
  topic: Entity | undefined,
): Pick<Entity, 'partitions'> {
  if (topic?.partitions !== undefined) return { partitions: topic.partitions };
  if (description.kind === 'subscription' || !description.enablePartitioning) return {};
  return { partitions: description.partitions ?? LIMITS.partitions };
}
