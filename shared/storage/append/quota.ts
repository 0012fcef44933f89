import { logOf } from '../../domain/blocks/log.ts';
import { type Entity, partitionNumbers } from '../../domain/entities/entity.ts';
import type { StoreContext } from '../store-context.ts';
import { readPartitionHeader } from './partition-header.ts';

/**
 * Whether `bytes` more fit into an entity's quota, and an upper bound of its size, bytes (semantics #159). It measures
 * the entity only if the bytes stored since the last measurement could have filled it, so it usually costs nothing, and
 * it misses only what other processes send at this moment. Partitions to which this process never sent are unknown, so
 * it measures as soon as the known partitions could have filled their share.
 */
export async function fitsQuota(
  context: StoreContext,
  entity: Entity,
  { bytes, limit }: { readonly bytes: number; readonly limit: number },
  measure: () => Promise<number>,
): Promise<{ readonly fits: boolean; readonly size: number }> {
  const { sizeEstimate, table } = context;
  const logs = partitionNumbers(entity).map((partition) => logOf(entity, 'main', partition));
  const atMost = () => logs.reduce((sum, log) => sum + sizeEstimate.atMost(log), 0);
  const known = logs.filter((log) => sizeEstimate.knows(log)).length;
  const partOfLimit = (limit * Math.max(1, known)) / logs.length;
  if (atMost() + bytes > partOfLimit && !logs.every((log) => sizeEstimate.isFresh(log))) {
    const headers = await Promise.all(logs.map((log) => readPartitionHeader(table, log)));
    const size = await measure();
    // The measurement is of the whole entity. It is booked on the first partition, since only the sum counts.
    for (const [i, log] of logs.entries()) {
      sizeEstimate.noteMeasurement(log, i === 0 ? size : 0, headers[i]?.bytesIn ?? 0);
    }
  }
  return { fits: atMost() + bytes <= limit, size: atMost() };
}
