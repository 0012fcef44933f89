import type { Entity } from '../../domain/entities/entity.ts';
import type { DynamoEntityStore } from '../entities/entity-store.ts';

/**
 * Does work for an entity. Its failure does not matter if the entity was deleted meanwhile, which one read unit finds
 * out, two for a subscription. Throws as `work`.
 */
export async function unlessGone(
  entities: Pick<DynamoEntityStore, 'read'>,
  { id, key }: Pick<Entity, 'id' | 'key'>,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if ((await entities.read(key))?.id === id) throw error;
  }
}
