import type { Block } from '../../domain/blocks/block.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import type { Clock } from '../../domain/clock.ts';
import { type Entity, partitionNumbers } from '../../domain/entities/entity.ts';
import { SUB_QUEUES } from '../../domain/entities/entity-path.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { Table } from '../dynamodb/table.ts';
import { logKey } from '../schema/message-keys.ts';
import { readSessions } from '../sessions/list.ts';
import type { DynamoEntityStore } from './entity-store.ts';

interface SizeDependencies {
  readonly table: Table;
  readonly entities: Pick<DynamoEntityStore, 'subscriptionsOf'>;
  readonly clock: Clock;
}

/**
 * The bytes in an entity with all its sub-queues; of a topic with all its subscriptions (semantics D1, #159). It reads
 * everything, strongly consistent, so that an entity that is not full never refuses a message: `fitsQuota` asks for it
 * only if the entity may be full.
 */
export async function exactSizeOf(dependencies: SizeDependencies, entity: Entity): Promise<number> {
  let size = await sizeOfOne(dependencies, entity);
  if (entity.description.kind !== 'topic') return size;
  for await (const child of dependencies.entities.subscriptionsOf(entity)) {
    size += await sizeOfOne(dependencies, child);
  }
  return size;
}

async function sizeOfOne(dependencies: SizeDependencies, entity: Entity): Promise<number> {
  const logs = partitionNumbers(entity).flatMap((partition) =>
    SUB_QUEUES.map((subQueue) => logOf(entity, subQueue, partition)),
  );
  const sizes = await Promise.all(logs.map((log) => sizeOfLog(dependencies, log)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOfLog({ table, clock }: SizeDependencies, log: Log): Promise<number> {
  let size = 0;
  if (log.sessions !== undefined) size += (await readSessions({ table, clock }, log)).stateBytes;
  const items = table.all({
    KeyConditionExpression: 'pk = :log',
    ExpressionAttributeValues: { ':log': { S: logKey(log) } },
    ConsistentRead: true,
  });
  for await (const item of items) size += bytesLeftIn(fromBlockItem(item));
  return size;
}

/** The bytes of the messages in a block; if some of them have left, an estimate of the rest. */
export function bytesLeftIn({ slots, payload }: Block): number {
  const span = Math.max(0, ...slots.keys()) + 1;
  return Math.ceil((payload.bytes * slots.size) / span);
}
