import type { Entity } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import { gravesOf } from '../schema/entity-keys.ts';

/** The writes that remove an entity; `idleSince` = epoch ms after which it must not have been used. */

/** Whoever removes an entity without asking whether it is idle. */
export const ANY_TIME = Number.POSITIVE_INFINITY;

/** Removes the description, if it still is that of this entity, with the logs that are to be cleared. */
export function removalOf(
  table: string,
  key: ItemKey,
  { id, generations }: Entity,
  idleSince: number,
): DocumentWrite {
  const isAny = idleSince === ANY_TIME;
  return {
    Delete: {
      TableName: table,
      Key: key,
      ConditionExpression: isAny
        ? '#id = :id AND generations = :generations'
        : '#id = :id AND generations = :generations AND (attribute_not_exists(accessedAt) OR accessedAt <= :since)',
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: {
        ':id': id,
        ':generations': generations,
        ...(isAny ? {} : { ':since': idleSince }),
      },
    },
  };
}

/** Removes a head, without which nothing can be sent; it knows when the last send was. */
export function headRemovalOf(table: string, key: ItemKey, idleSince: number): DocumentWrite {
  const onlyIdle = {
    ConditionExpression: 'attribute_not_exists(a) OR a <= :since',
    ExpressionAttributeValues: { ':since': idleSince },
  };
  return { Delete: { TableName: table, Key: key, ...(idleSince === ANY_TIME ? {} : onlyIdle) } };
}

/** What the sweep has to clear. */
export interface Grave {
  readonly name: string;
  /** Epoch ms. */
  readonly removedAt: number;
  readonly entity: Entity;
  /** Over how many partitions its messages are spread. */
  readonly partitions: number;
  /** Set where only this generation of this sub-queue was purged. */
  readonly subQueue?: SubQueue;
  readonly generation?: number;
}

/** Notes what the sweep has to clear. */
export function graveOf(
  table: string,
  namespace: string,
  { name, ...grave }: Grave,
): DocumentWrite {
  return { Put: { TableName: table, Item: { pk: gravesOf(namespace), sk: name, ...grave } } };
}
