import { CONSUMER_LIMITS, type Consumer } from '../../domain/consumers/consumer.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';

/**
 * The writes that change one consumer in the document of its entity and leave the others as they are. Their condition
 * is that the settings of the entity are those that were read, since these decide which consumers it may have, and that
 * the consumer is the version that was read.
 */

/** Where the document of an entity is. */
export interface DocumentPlace {
  readonly TableName: string;
  readonly Key: ItemKey;
}

/** What becomes of a consumer. `before` = as it was read; undefined = there was none of this key. */
interface ConsumerChange {
  readonly key: string;
  readonly consumer: Consumer;
  readonly before: Consumer | undefined;
}

/** Stores a consumer beside others, of which there may be a limited number. */
export function consumerPut(
  place: DocumentPlace,
  entity: Entity,
  { key, consumer, before }: ConsumerChange,
): DocumentWrite {
  const known = before === undefined ? isNew() : isUnchanged(before);
  return {
    Update: {
      ...place,
      UpdateExpression: 'SET consumers.#key = :consumer',
      ConditionExpression: `#id = :id AND epoch = :epoch AND ${known.condition}`,
      ExpressionAttributeNames: { '#id': 'id', '#key': key },
      ExpressionAttributeValues: { ...valuesOf(entity), ...known.values, ':consumer': consumer },
    },
  };
}

/** Stores the first consumer of an entity, whose document has no map of them yet. */
export function firstConsumerPut(
  place: DocumentPlace,
  entity: Entity,
  { key, consumer }: ConsumerChange,
): DocumentWrite {
  return {
    Update: {
      ...place,
      UpdateExpression: 'SET consumers = :consumers',
      ConditionExpression: '#id = :id AND epoch = :epoch AND attribute_not_exists(consumers)',
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: { ...valuesOf(entity), ':consumers': { [key]: consumer } },
    },
  };
}

/** Removes a consumer. */
export function consumerRemoval(
  place: DocumentPlace,
  entity: Entity,
  { key, before }: { readonly key: string; readonly before: Consumer },
): DocumentWrite {
  const known = isUnchanged(before);
  return {
    Update: {
      ...place,
      UpdateExpression: 'REMOVE consumers.#key',
      ConditionExpression: `#id = :id AND epoch = :epoch AND ${known.condition}`,
      ExpressionAttributeNames: { '#id': 'id', '#key': key },
      ExpressionAttributeValues: { ...valuesOf(entity), ...known.values },
    },
  };
}

function valuesOf({ id, epoch }: Entity) {
  return { ':id': id, ':epoch': epoch };
}

function isNew() {
  return {
    condition: 'attribute_not_exists(consumers.#key) AND size(consumers) < :most',
    values: { ':most': CONSUMER_LIMITS.perEntity },
  };
}

function isUnchanged({ id, version }: Consumer) {
  return {
    condition: 'consumers.#key.#id = :consumerId AND consumers.#key.version = :version',
    values: { ':consumerId': id, ':version': version },
  };
}
