import type { Copy, LogBatch } from '../../broker/ports/publication.ts';
import { groupBy } from '../../domain/group-by.ts';
import type { Message } from '../../domain/messages/message.ts';
import { SLOTS_PER_BLOCK, sizeOf } from '../blocks/pack-blocks.ts';
import type { StoreContext } from '../store-context.ts';

const PAYLOAD_BYTES = 64 * 1024;

/** Sequence numbers that share a block in every log, and the message that most logs get for each. */
export interface Chunk {
  readonly first: bigint;
  readonly messages: ReadonlyMap<bigint, Message>;
  /** The part of the chunk that each log gets. */
  readonly portions: readonly Portion[];
}

/** Some of the copies of a batch. */
export interface Portion {
  readonly batch: LogBatch;
  readonly copies: readonly Copy[];
}

/** The message that most logs get, for each number. */
async function commonMessages(
  { workTurns }: StoreContext,
  batches: readonly LogBatch[],
  peer: object,
): Promise<ReadonlyMap<bigint, Message>> {
  const counts = new Map<bigint, Map<Message, number>>();
  for (const { copies } of batches) {
    await workTurns.next(peer);
    for (const { sequence, message } of copies) {
      const ofNumber = counts.get(sequence) ?? new Map<Message, number>();
      ofNumber.set(message, (ofNumber.get(message) ?? 0) + 1);
      counts.set(sequence, ofNumber);
    }
  }
  const common = new Map<bigint, Message>();
  for (const [sequence, ofNumber] of counts) {
    const [most] = [...ofNumber].sort(([, a], [, b]) => b - a);
    if (most !== undefined) common.set(sequence, most[0]);
  }
  return common;
}

/** Cuts the messages of several logs into chunks, in turns of `peer`. */
export async function cutChunks(
  context: StoreContext,
  batches: readonly LogBatch[],
  peer: object,
): Promise<readonly Chunk[]> {
  const messages = await commonMessages(context, batches, peer);
  const sorted = [...messages].sort(([a], [b]) => ascending(a, b));
  const chunks: { first: bigint; messages: Map<bigint, Message>; portions: Portion[] }[] = [];
  const chunkOf = new Map<bigint, number>();
  let bytes = 0;
  for (const [sequence, message] of sorted) {
    const size = sizeOf(message);
    const last = chunks.at(-1);
    const fits =
      last !== undefined &&
      sequence - last.first < BigInt(SLOTS_PER_BLOCK) &&
      bytes + size <= PAYLOAD_BYTES;
    if (fits) last.messages.set(sequence, message);
    else {
      chunks.push({ first: sequence, messages: new Map([[sequence, message]]), portions: [] });
    }
    chunkOf.set(sequence, chunks.length - 1);
    bytes = fits ? bytes + size : size;
  }
  for (const batch of batches) {
    await context.workTurns.next(peer);
    const portions = groupBy(batch.copies, ({ sequence }) => chunkOf.get(sequence));
    for (const [i = -1, copies] of portions) chunks[i]?.portions.push({ batch, copies });
  }
  return chunks;
}

/** Orders sequence numbers. */
export function ascending(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
