import type { LogBatch } from '../../broker/ports/publication.ts';
import { assert } from '../../domain/assert.ts';
import type { Block, PayloadPlace } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { FRESH_SLOT, type Slot } from '../../domain/blocks/slot.ts';
import { addTo } from '../../domain/group-by.ts';
import type { Message } from '../../domain/messages/message.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { forEachInTurns } from '../../domain/turns/work-turns.ts';
import { encodeMessages } from '../blocks/message-codec.ts';
import { layPayload, sizeOf, withPrintedBytes } from '../blocks/pack-blocks.ts';
import { putPayloads, referencesItem } from '../blocks/payloads.ts';
import { printedBytesToStore } from '../blocks/printed-bytes.ts';
import type { Item } from '../dynamodb/table.ts';
import { headerKey, payloadCollection, randomName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { ascending, type Chunk, cutChunks, type Portion } from './layout-chunks.ts';

/**
 * Lays out messages for several logs at once, in blocks for each. Messages that several logs get unchanged are encoded
 * once, and stored once if they do not fit into the blocks; the last block that refers to them deletes them.
 */

/** A block and the log that it goes to. */
export interface Placed {
  readonly to: Log;
  readonly block: Block;
}

/** How many logs get payloads of their own at the same time; each is in memory until it is stored. */
const OWN_AT_ONCE = 32;
/** How many chunks are laid out at the same time. */
const CHUNKS_AT_ONCE = 32;
/** At most this many messages are encoded for one log alone, if they then fit into the block. */
const ALONE_MAX = 4;

/**
 * Writes payloads and returns the blocks that refer to them. Only subscriptions of one topic share payloads, and these
 * belong to the topic, so that deleting another entity cannot delete them. `peer` = the owner of the turns, the same
 * for all steps of an operation.
 */
export async function layOut(
  context: StoreContext,
  batches: readonly LogBatch[],
  enqueuedAt: number,
  peer: object,
): Promise<readonly Placed[]> {
  const families = new Map<string, LogBatch[]>();
  await forEachInTurns(context.workTurns, peer, batches, (batch) => {
    // Each partition numbers its messages itself.
    addTo(families, headerKey(batch.to.headerEntityId, batch.to.partition).pk, batch);
  });
  const placed = await Promise.all(
    Array.from(families.values(), (family) => layOutFamily(context, family, enqueuedAt, peer)),
  );
  return placed.flat();
}

async function layOutFamily(
  context: StoreContext,
  batches: readonly LogBatch[],
  enqueuedAt: number,
  peer: object,
): Promise<readonly Placed[]> {
  const [first] = batches;
  if (first === undefined) return [];
  const owner: Log = { ...first.to, entityId: first.to.headerEntityId };
  const chunks = await cutChunks(context, batches, peer);
  const placed: (readonly Placed[])[] = [];
  await inParallel([...chunks.entries()], CHUNKS_AT_ONCE, async ([i, chunk]) => {
    placed[i] = await layOutChunk(context, owner, chunk, enqueuedAt, peer);
  });
  return placed.flat();
}

/** The part of a chunk that one log gets. */
interface Part {
  readonly batch: LogBatch;
  readonly messages: ReadonlyMap<bigint, Message>;
  readonly slots: ReadonlyMap<number, Slot>;
  readonly first: bigint;
}

async function layOutChunk(
  context: StoreContext,
  owner: Log,
  chunk: Chunk,
  enqueuedAt: number,
  peer: object,
): Promise<readonly Placed[]> {
  const { workTurns } = context;
  await workTurns.next(peer);
  const parts: Part[] = [];
  const common: Part[] = [];
  await forEachInTurns(workTurns, peer, chunk.portions, (portion) => {
    const part = partOf(portion, enqueuedAt);
    parts.push(part);
    if (isCommon(part, chunk)) common.push(part);
  });
  const shared = await sharedPlaces(context, owner, chunk, { parts: common, peer });
  const places = new Map(shared);
  const others = parts.filter((part) => !places.has(part));
  await inParallel(others, OWN_AT_ONCE, async (part) => {
    places.set(part, await ownPlace(context, part));
  });
  const placed: Placed[] = [];
  await forEachInTurns(workTurns, peer, parts, (part) => {
    const place = places.get(part);
    assert(place !== undefined, 'what each log gets has a place');
    placed.push({ to: part.batch.to, block: blockOf(part, place, enqueuedAt) });
  });
  return placed;
}

function isCommon({ messages }: Part, chunk: Chunk): boolean {
  return [...messages].every(([sequence, message]) => chunk.messages.get(sequence) === message);
}

/** A message that arrives has no deliveries, wherever it had some before (semantics F4). */
function partOf({ batch, copies }: Portion, enqueuedAt: number): Part {
  const [first] = copies.map(({ sequence }) => sequence).sort(ascending);
  assert(first !== undefined, 'a portion has copies');
  const slots = new Map<number, Slot>();
  const messages = new Map<bigint, Message>();
  for (const { sequence, message } of copies) {
    messages.set(sequence, message);
    const expiresAt = expiryAtArrival(message, batch, enqueuedAt);
    slots.set(
      Number(sequence - first),
      expiresAt === undefined ? FRESH_SLOT : { ...FRESH_SLOT, expiresAt },
    );
  }
  return { batch, messages, slots, first };
}

/**
 * The end of the message's own time to live, limited by the entity's (semantics #A10). It counts from the arrival, so
 * that of a forwarded message begins anew (semantics V3).
 */
function expiryAtArrival(
  { timeToLiveMs }: Message,
  { timeToLiveMsMax = Number.POSITIVE_INFINITY }: LogBatch,
  enqueuedAt: number,
): number | undefined {
  if (timeToLiveMs === undefined) return undefined;
  return enqueuedAt + Math.min(timeToLiveMs, timeToLiveMsMax);
}

/** Payload places for parts with unchanged messages: in the blocks, or stored once for all of them. */
async function sharedPlaces(
  context: StoreContext,
  owner: Log,
  chunk: Chunk,
  { parts, peer }: { readonly parts: readonly Part[]; readonly peer: object },
): Promise<ReadonlyMap<Part, PayloadPlace>> {
  const places = new Map<Part, PayloadPlace>();
  if (parts.length < 2) return places;
  const encoded = await encodeMessages(sparse(chunk.messages, chunk.first), context.compression);
  const fitsAlone = aloneFitting(context, chunk);
  const messages = [...chunk.messages.values()];
  const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  const printedBytes = printedBytesToStore(messages, bytes);
  const reference = randomName(context.random);
  const sharedIn = payloadCollection(owner);
  let pieces: readonly Uint8Array[] | undefined;
  let references = 0;
  for (const part of parts) {
    // Chunks are laid out at the same time, and each part may have many messages.
    await context.workTurns.next(peer);
    const { slots } = part;
    const { to } = part.batch;
    const laid = layPayload(to, { slots, encoded, bytes, printedBytes, reference });
    const offset = Number(part.first - chunk.first);
    if (laid.parts.length === 0) {
      places.set(part, { ...laid.payload, offset });
      continue;
    }
    if (part.messages.size <= ALONE_MAX && (await fitsAlone(part))) continue;
    // The shared bytes are stored once, so no block holds a part of them.
    pieces ??= wholePieces(encoded);
    const sharedAs = references++;
    const place = { reference, sharedIn, sharedAs, parts: pieces.length, offset, bytes };
    places.set(part, withPrintedBytes(to, slots, place, printedBytes));
  }
  if (pieces !== undefined) await putShared(context, owner, reference, pieces, references);
  return places;
}

function wholePieces(encoded: Uint8Array): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < encoded.byteLength; at += PIECE_BYTES) {
    pieces.push(encoded.subarray(at, at + PIECE_BYTES));
  }
  return pieces;
}

const PIECE_BYTES = 380 * 1024;

/**
 * Whether a log's part of a chunk fits into its block if it is encoded alone. A part that many logs have is encoded
 * once. The whole chunk is known not to fit.
 */
function aloneFitting({ compression }: StoreContext, chunk: Chunk) {
  const encoded = new Map<string, Promise<Uint8Array>>();
  return async ({ batch: { to }, slots, messages, first }: Part): Promise<boolean> => {
    if (messages.size === chunk.messages.size) return false;
    const key = [...messages.keys()].join();
    const known = encoded.get(key) ?? encodeMessages(sparse(messages, first), compression);
    encoded.set(key, known);
    const own = { slots, encoded: await known, bytes: 0, reference: 'x'.repeat(12) };
    return layPayload(to, own).parts.length === 0;
  };
}

async function putShared(
  context: StoreContext,
  owner: Log,
  reference: string,
  pieces: readonly Uint8Array[],
  references: number,
): Promise<void> {
  const now = context.clock.now();
  const count: Item = referencesItem(payloadCollection(owner), reference, references, now);
  await Promise.all([
    putPayloads(context.table, owner, [{ reference, parts: pieces }], now),
    context.table.put(count),
  ]);
}

async function ownPlace(context: StoreContext, part: Part): Promise<PayloadPlace> {
  const { to } = part.batch;
  const messages = [...part.messages.values()];
  const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  const { payload, parts } = layPayload(to, {
    slots: part.slots,
    encoded: await encodeMessages(sparse(part.messages, part.first), context.compression),
    bytes,
    printedBytes: printedBytesToStore(messages, bytes),
    reference: randomName(context.random),
  });
  const { reference } = payload;
  if (reference !== undefined) {
    await putPayloads(context.table, to, [{ reference, parts }], context.clock.now());
  }
  return payload;
}

/** Messages by slot, with gaps. */
function sparse(messages: ReadonlyMap<bigint, Message>, first: bigint): (Message | undefined)[] {
  const list: (Message | undefined)[] = [];
  for (const [sequence, message] of messages) list[Number(sequence - first)] = message;
  return Array.from(list);
}

function blockOf(part: Part, payload: PayloadPlace, enqueuedAt: number): Block {
  const expiries = new Set([...part.slots.values()].map(({ expiresAt }) => expiresAt));
  const [expiresAt] = expiries;
  assert(part.slots.size > 0, 'a block has messages');
  const block = { section: 'live', sequence: part.first, enqueuedAt, payload } as const;
  if (expiries.size > 1 || expiresAt === undefined) return { ...block, slots: part.slots };
  const slots = new Map([...part.slots.keys()].map((slot) => [slot, FRESH_SLOT]));
  return { ...block, slots, expiresAt };
}
