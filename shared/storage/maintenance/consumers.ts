import { type Log, logOf } from '../../domain/blocks/log.ts';
import { type Entity, isConsumed, partitionNumbers } from '../../domain/entities/entity.ts';
import { SUB_QUEUES } from '../../domain/entities/entity-path.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { FIRST_BLOCK, FIRST_READY, readyCollection, readyUntil } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import type { SweepDependencies } from './sweep-run.ts';

/**
 * Wakes the consumers of an entity that has messages for them, in case the table's stream or a process has lost what
 * would have woken them. Half a read unit for each partition of a consumed queue.
 */
export async function lookForConsumers(
  { context }: Pick<SweepDependencies, 'context'>,
  entity: Entity,
): Promise<void> {
  for (const subQueue of SUB_QUEUES) {
    if (!isConsumed(entity, subQueue)) continue;
    for (const partition of partitionNumbers(entity)) {
      if (!(await mayHaveMessages(context, logOf(entity, subQueue, partition)))) continue;
      await context.consumers.wakeAll(entity);
      return;
    }
  }
}

/** Whether a log has any live message, or any session that may be ready. */
async function mayHaveMessages(context: StoreContext, log: Log): Promise<boolean> {
  if (log.sessions === undefined) {
    const page = { from: FIRST_BLOCK, limit: 1, consistent: false };
    return (await readBlocks(context, log, page)).blocks.length > 0;
  }
  const to = readyUntil(context.clock.now());
  const page = { from: FIRST_READY, to, limit: 1, consistent: false };
  return (await context.table.range(readyCollection(log), page)).items.length > 0;
}
