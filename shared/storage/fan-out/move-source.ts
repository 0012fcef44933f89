import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { StoredBatch } from '../../broker/ports/deliveries.ts';
import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { deletePayload, loadMessages } from '../blocks/payloads.ts';
import type { StoreContext } from '../store-context.ts';

/** Where the messages of a batch lie that is about to go elsewhere. */
export interface BatchPlace {
  readonly log: Log;
  readonly taken: readonly { readonly block: Block; readonly slots: readonly number[] }[];
}

/** Reads a batch; nothing where its blocks are gone. */
export async function readBatch(
  context: StoreContext,
  place: BatchPlace,
  enqueuedAt: number,
): Promise<StoredBatch | undefined> {
  const { log, taken } = place;
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
  return { copies, enqueuedAt, place };
}

/** The removal of a batch from where it lies. */
export function removalsOf(context: StoreContext, { log, taken }: BatchPlace): TransactWriteItem[] {
  return taken.map(({ block, slots }) => removalOf(context, log, block, slots));
}

/** Deletes the payloads of blocks that went as a whole. */
export function letGo(context: StoreContext, { log, taken }: BatchPlace): void {
  for (const { block, slots } of taken) {
    if (slots.length < block.slots.size) continue;
    context.background(() => deletePayload(context.table, log, block.payload));
  }
}
