import { logOf } from '../../shared/domain/blocks/log.ts';
import { type Entity, partitionNumbers } from '../../shared/domain/entities/entity.ts';
import { logKey } from '../../shared/storage/schema/message-keys.ts';
import type { SimulatedDatabase } from '../../test/simulation/tables/database.ts';
import { TABLES } from './instance.ts';

const FILLER_BYTES = 20_000;
/** More than the burst capacity of a collection is enough for. */
const FILLERS_MAX = 60;
/** A sort key after all that is read. */
const FILLER = '~';

/**
 * Uses up the burst capacity of the item collections of a queue, that is, the write units that they saved while they
 * were idle. Then a load is served as it would be after a minute.
 */
export function drainBurstCapacity(database: SimulatedDatabase, queue: Entity): void {
  for (const partition of partitionNumbers(queue)) {
    const pk = logKey(logOf(queue, 'main', partition));
    for (let i = 0; i < FILLERS_MAX && fill(database, pk); i++);
  }
}

/** Overwrites the filler item. Returns false if no burst capacity is left for it. */
function fill(database: SimulatedDatabase, pk: string): boolean {
  try {
    database.execute('PutItemCommand', {
      TableName: TABLES.messages,
      Item: { pk: { S: pk }, sk: { S: FILLER }, b: { B: new Uint8Array(FILLER_BYTES) } },
    });
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'ThrottlingException') return false;
    throw error;
  }
}
