import { logOf } from '../../shared/domain/blocks/log.ts';
import { type Entity, partitionNumbers } from '../../shared/domain/entities/entity.ts';
import { logKey } from '../../shared/storage/schema/message-keys.ts';
import type { SimulatedDatabase } from '../../test/simulation/tables/database.ts';
import { TABLES } from './instance.ts';

const FILLER_BYTES = 20_000;
/** More of them than the savings of a collection pay for. */
const FILLERS_MAX = 60;
/** Sorts behind everything that is read. */
const FILLER = '~';

/**
 * Uses up the write units that the item collections of a queue have saved while they were idle, so that
 * a load meets what it would meet after a minute.
 */
export function useUpSavings(database: SimulatedDatabase, queue: Entity): void {
  for (const partition of partitionNumbers(queue)) {
    const pk = logKey(logOf(queue, 'main', partition));
    for (let i = 0; i < FILLERS_MAX && fill(database, pk); i++);
  }
}

/** Writes an item over the last one. False = nothing is left to pay for it. */
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
