import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { MoveSource, StoredBatch } from '../../broker/ports/deliveries.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { deletePayload, loadMessages } from '../blocks/payloads.ts';
import type { StoreContext } from '../store-context.ts';

/** Reads a batch; nothing where its blocks are gone. */
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

/** Removes messages from where they lie; each block must be as it was read. */
export function removalsOf(context: StoreContext, { log, taken }: MoveSource): TransactWriteItem[] {
  return taken.map(({ block, slots }) => removalOf(context, log, block, slots));
}

/** Deletes the payloads of blocks that went as a whole. */
export function releasePayloads(context: StoreContext, { log, taken }: MoveSource): void {
  for (const { block, slots } of taken) {
    if (slots.length < block.slots.size) continue;
    context.background(() => deletePayload(context.table, log, block.payload));
  }
}
