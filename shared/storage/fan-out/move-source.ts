import type { MoveSource, StoredBatch } from '../../broker/ports/publication.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { loadMessages, releasePayload } from '../blocks/payloads.ts';
import type { PreparedWrite } from '../dynamodb/prepared-write.ts';
import type { StoreContext } from '../store-context.ts';

/** Loads the messages of blocks; undefined if the blocks are gone. */
export async function readBatch(
  context: StoreContext,
  source: MoveSource,
  enqueuedAt: number,
): Promise<StoredBatch | undefined> {
  const { log, taken } = source;
  const loaded = await loadMessages(
    context,
    log,
    taken.map(({ block }) => block),
  );
  if (!taken.every(({ block }) => loaded.has(block))) return undefined;
  const copies = taken.flatMap(({ block, slots }) =>
    slots.map((slot) => ({
      sequence: block.sequence + BigInt(slot),
      message: loaded.at(block, slot),
    })),
  );
  return { copies, enqueuedAt, source };
}

/**
 * Prepares to remove messages from their blocks, on the condition that the slots are unchanged. The payloads of blocks
 * that are removed whole are released afterwards.
 */
export function prepareRemoval(
  { table, background }: StoreContext,
  { log, taken }: MoveSource,
): PreparedWrite {
  return {
    writes: taken.map(({ block, slots }) => removalOf(log, block, slots)),
    onDone: () => {
      for (const { block, slots } of taken) {
        if (slots.length < block.slots.size) continue;
        background(() => releasePayload(table, log, block.payload));
      }
    },
  };
}
