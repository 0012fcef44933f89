import type { Entity } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import { tombstonesCollection } from '../schema/entity-keys.ts';

/** The writes that remove an entity; `idleSince` = epoch ms after which it must not have been used. */

/** Removes an entity whether it is idle or not. */
export const ANY_TIME = Number.POSITIVE_INFINITY;

/** Which entity a removal may remove. */
export interface RemovalCondition {
  readonly idleSince: number;
  /** Whether it must not have been updated since it was read; an idle one never may. */
  readonly isThisVersion: boolean;
}

/** Deletes the description, if it still belongs to this entity and these generations of its logs. */
export function removalOf(
  table: string,
  key: ItemKey,
  entity: Entity,
  condition: RemovalCondition,
): DocumentWrite {
  const { expression, values } = conditionOf(entity, condition);
  return {
    Delete: {
      TableName: table,
      Key: key,
      ...expression,
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: {
        ':id': entity.id,
        ':generations': entity.generations,
        ...values,
      },
    },
  };
}

function conditionOf({ epoch }: Entity, { idleSince, isThisVersion }: RemovalCondition) {
  if (idleSince !== ANY_TIME) {
    return {
      expression: {
        ConditionExpression:
          '#id = :id AND generations = :generations AND epoch = :epoch AND (attribute_not_exists(accessedAt) OR accessedAt <= :since)',
      },
      values: { ':since': idleSince, ':epoch': epoch },
    };
  }
  return {
    expression: {
      ConditionExpression: isThisVersion
        ? '#id = :id AND generations = :generations AND epoch = :epoch'
        : '#id = :id AND generations = :generations',
    },
    values: isThisVersion ? { ':epoch': epoch } : {},
  };
}

/** Deletes a partition's header, without which nothing can be sent; it holds the time of the last send. */
export function headerRemovalOf(table: string, key: ItemKey, idleSince: number): DocumentWrite {
  const onlyIdle = {
    ConditionExpression: 'attribute_not_exists(a) OR a <= :since',
    ExpressionAttributeValues: { ':since': idleSince },
  };
  return { Delete: { TableName: table, Key: key, ...(idleSince === ANY_TIME ? {} : onlyIdle) } };
}

/** Names a removed entity or a purged sub-queue, whose messages the sweep deletes. */
export interface Tombstone {
  readonly name: string;
  /** Epoch ms. */
  readonly removedAt: number;
  readonly entity: Entity;
  /** How many partitions its messages lie in. */
  readonly partitions: number;
  /** Set if only this generation of this sub-queue was purged. */
  readonly subQueue?: SubQueue;
  readonly generation?: number;
  /** Set if the entity had consumers, whose states are to be deleted. */
  readonly wasConsumed?: true;
}

/** The write that stores a tombstone, without the consumers of the entity: only their states are to be deleted. */
export function tombstonePut(
  table: string,
  namespace: string,
  { name, entity: { consumers, ...entity }, ...tombstone }: Tombstone,
): DocumentWrite {
  const key = { pk: tombstonesCollection(namespace), sk: name };
  const wasConsumed = consumers === undefined ? {} : { wasConsumed: true };
  return { Put: { TableName: table, Item: { ...key, ...tombstone, ...wasConsumed, entity } } };
}
