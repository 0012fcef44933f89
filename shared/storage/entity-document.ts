import { type Entity, partitionsOf } from '../domain/entity.ts';
import type { Document } from './documents.ts';
import type { ItemKey } from './dynamo.ts';
import { headKey } from './keys.ts';

/** The heads of an entity's partitions; a subscription has as many as its topic. */
export function headKeys(entity: Entity, topic: Entity | undefined): readonly ItemKey[] {
  return Array.from({ length: partitionsOf(topic ?? entity) }, (_, partition) =>
    headKey(entity.id, partition),
  );
}

/** An entity as its document holds it. */
export function fromDocument(document: Document): Entity {
  const { pk: _, sk: __, ...entity } = document;
  return entity as unknown as Entity;
}
