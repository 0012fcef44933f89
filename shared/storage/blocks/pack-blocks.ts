import type { Block, PayloadPlace } from '../../domain/blocks/block.ts';
import { SLOTS_MAX } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { FRESH_SLOT, type Slot } from '../../domain/blocks/slot.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import { ITEM_BYTES_MAX, itemSize, UNIT_BYTES } from '../dynamodb/item-size.ts';
import { keyItem } from '../dynamodb/table.ts';
import { payloadKey } from '../schema/message-keys.ts';
import { toBlockItem } from './block-item.ts';
import type { Compression } from './compression.ts';
import { encodeMessages } from './message-codec.ts';
import { printedBytesToStore } from './printed-bytes.ts';

/**
 * Lays out messages in blocks. A block stays within one write unit even if every message is locked, so it holds about
 * 34 messages; its payload is cut at 64 KB, so that a receive of one message does not read megabytes.
 */

/** A message with the offset of its sequence number from the first of its send. */
export interface Numbered {
  readonly offset: number;
  readonly message: Message;
}

/** Numbers messages one after the other. */
export function inARow(messages: readonly Message[]): readonly Numbered[] {
  return messages.map((message, offset) => ({ offset, message }));
}

/** A block without a sequence number yet, and the contents of its payload items. */
export interface PackedBlock {
  /** The offset of the number of its slot 0 from the first of its send. */
  readonly offset: number;
  readonly slots: ReadonlyMap<number, Slot>;
  readonly expiresAt?: number;
  readonly payload: PayloadPlace;
  /** One entry a payload item. */
  readonly parts: readonly Uint8Array[];
}

const PAYLOAD_BYTES = 64 * 1024;
/** How many blocks a send should have: a transaction takes 100 items, some of them its other writes. Not a limit. */
export const BLOCKS_PER_SEND_AIM = 90;
/** Bytes for numbers, times and states, in addition to body and properties. */
const MESSAGE_OVERHEAD_BYTES = 64;

/** Cuts messages into groups that make one block each, in order. */
export function cutBlocks(
  log: Log,
  messages: readonly Numbered[],
): readonly (readonly Numbered[])[] {
  return messages.length === 1 ? [messages] : cut(messages, slotsPerBlock(log, messages));
}

/** Options of `packBlocks`. */
export interface Packing {
  readonly compression: Compression;
  /** Makes a new name for the payload of each block. */
  readonly reference: () => string;
}

/** Makes blocks of groups from `cutBlocks`. */
export async function packBlocks(
  log: Log,
  cuts: readonly (readonly Numbered[])[],
  enqueuedAt: number,
  { compression, reference }: Packing,
): Promise<readonly PackedBlock[]> {
  const packed: PackedBlock[] = [];
  // One after the other, so that no send uses all threads.
  for (const run of cuts) {
    const offset = run[0]?.offset ?? 0;
    const { slots, expiresAt } = freshSlots(run, offset, enqueuedAt);
    const laid = layPayload(log, {
      slots,
      encoded: await encodeMessages(bySlot(run, offset), compression),
      bytes: sizeOfAll(run),
      printedBytes: printedBytesToStore(
        run.map(({ message }) => message),
        sizeOfAll(run),
      ),
      reference: reference(),
    });
    packed.push({ offset, slots, ...(expiresAt === undefined ? {} : { expiresAt }), ...laid });
  }
  return packed;
}

function bySlot(run: readonly Numbered[], first: number): (Message | undefined)[] {
  const messages: (Message | undefined)[] = [];
  for (const { offset, message } of run) messages[offset - first] = message;
  return Array.from(messages);
}

function sizeOfAll(run: readonly Numbered[]): number {
  return run.reduce((sum, { message }) => sum + sizeOf(message), 0);
}

/** Bytes that a message counts towards the size of its entity. */
export function sizeOf(message: Message): number {
  return messageSize(message) + MESSAGE_OVERHEAD_BYTES;
}

function freshSlots(
  run: readonly Numbered[],
  first: number,
  enqueuedAt: number,
): { slots: Map<number, Slot>; expiresAt?: number } {
  // From here on the time to live is an instant (semantics #A2).
  const expiries = run.map(({ message: { timeToLiveMs } }) =>
    timeToLiveMs === undefined ? undefined : enqueuedAt + timeToLiveMs,
  );
  const [common] = expiries;
  const isCommon = expiries.every((expiry) => expiry === common);
  const slots = new Map<number, Slot>();
  for (const [i, { offset }] of run.entries()) {
    const expiresAt = isCommon ? undefined : expiries[i];
    slots.set(offset - first, expiresAt === undefined ? FRESH_SLOT : { ...FRESH_SLOT, expiresAt });
  }
  return isCommon && common !== undefined ? { slots, expiresAt: common } : { slots };
}

/** Cuts messages into groups of at most `slots` slots and about 64 KB, as even as possible. */
function cut(messages: readonly Numbered[], slots: number): Numbered[][] {
  const even = Math.ceil(messages.length / Math.ceil(messages.length / slots));
  const runs: Numbered[][] = [];
  let run: Numbered[] = [];
  let bytes = 0;
  for (const numbered of messages) {
    const size = sizeOf(numbered.message);
    const span = numbered.offset - (run[0]?.offset ?? numbered.offset);
    const isFull = run.length >= even || span >= SLOTS_MAX || bytes + size > PAYLOAD_BYTES;
    if (run.length > 0 && isFull) {
      runs.push(run);
      run = [];
      bytes = 0;
    }
    run.push(numbered);
    bytes += size;
  }
  if (run.length > 0) runs.push(run);
  return runs;
}

/** Slots that stay within one write unit; more if the send would not fit into a transaction otherwise. */
function slotsPerBlock(log: Log, messages: readonly Numbered[]): number {
  const mixedExpiry = messages.some(
    ({ message }) => message.timeToLiveMs !== messages[0]?.message.timeToLiveMs,
  );
  const perUnit = slotsWithinUnit(log, mixedExpiry);
  const cutsBySize = Math.ceil(sizeOfAll(messages) / PAYLOAD_BYTES);
  const needed = Math.ceil(messages.length / Math.max(1, BLOCKS_PER_SEND_AIM - 2 * cutsBySize));
  return Math.min(SLOTS_MAX, Math.max(perUnit, needed));
}

/**
 * Slots per block where blocks of several logs are cut alike (semantics T11). With times to live of their own, fewer
 * would stay within one unit while all are locked, but a further block in each log costs more (docs/decisions/0001).
 */
export const SLOTS_PER_BLOCK = 34;

const LOCKED: Slot = {
  deliveries: 10,
  heldUntil: 1_999_999_999_999,
  tag: new Uint8Array(7),
};
const LOCKED_WITH_EXPIRY: Slot = { ...LOCKED, expiresAt: 1_999_999_999_999 };

function slotsWithinUnit(log: Log, mixedExpiry: boolean): number {
  const slot = mixedExpiry ? LOCKED_WITH_EXPIRY : LOCKED;
  const empty = blockSize(log, new Map(), EMPTY_PLACE);
  const one = blockSize(log, new Map([[0, slot]]), EMPTY_PLACE);
  return Math.floor((UNIT_BYTES - empty) / (one - empty));
}

const EMPTY_PLACE: PayloadPlace = {
  reference: 'x'.repeat(12),
  parts: 1,
  offset: 0,
  bytes: PAYLOAD_BYTES,
};

/** The size of a block in which every message is locked. */
function lockedSize(log: Log, slots: ReadonlyMap<number, Slot>, payload: PayloadPlace): number {
  const locked = new Map(
    Array.from(slots, ([slot, { expiresAt }]) => [
      slot,
      expiresAt === undefined ? LOCKED : LOCKED_WITH_EXPIRY,
    ]),
  );
  return blockSize(log, locked, payload);
}

/** A place with the printed bytes of its messages, unless the block would then cost another unit. */
export function withPrintedBytes(
  log: Log,
  slots: ReadonlyMap<number, Slot>,
  payload: PayloadPlace,
  printedBytes: number | undefined,
): PayloadPlace {
  if (printedBytes === undefined) return payload;
  const sized = { ...payload, printedBytes };
  const units = (place: PayloadPlace) => Math.ceil(lockedSize(log, slots, place) / UNIT_BYTES);
  return units(sized) > units(payload) ? payload : sized;
}

function blockSize(log: Log, slots: ReadonlyMap<number, Slot>, payload: PayloadPlace): number {
  const block: Block = {
    section: 'live',
    sequence: 0n,
    enqueuedAt: 1_999_999_999_999,
    expiresAt: 1_999_999_999_999,
    slots,
    payload,
  };
  return itemSize(toBlockItem(log, block));
}

/** Bytes of no payload at all: less than an empty payload, whose attribute has a name. */
const NOTHING = -1;

/**
 * Decides which bytes of a payload are stored in the block and which in payload items: all in the block if it then
 * stays within one unit; otherwise only the bytes beyond the last whole KB of the items, if the block has room for
 * them. That saves one unit at the write and one at the deletion.
 */
export function layPayload(
  log: Log,
  payload: {
    readonly slots: ReadonlyMap<number, Slot>;
    readonly encoded: Uint8Array;
    readonly bytes: number;
    /** Omitted if the block would then cost another unit. */
    readonly printedBytes?: number | undefined;
    readonly reference: string;
    readonly overlay?: Uint8Array;
  },
): { payload: PayloadPlace; parts: readonly Uint8Array[] } {
  const { encoded, bytes, printedBytes, reference } = payload;
  const lean = {
    bytes,
    offset: 0,
    ...(payload.overlay === undefined ? {} : { overlay: payload.overlay }),
  };
  const keyBytes = itemSize({
    ...keyItem(payloadKey(log, reference, 0)),
    q: { N: String(Number.MAX_SAFE_INTEGER) },
    d: { S: '' },
  });
  const overhang = (encoded.byteLength + keyBytes) % UNIT_BYTES;
  const roomBeside = (place: Pick<PayloadPlace, 'bytes' | 'offset' | 'printedBytes'>) =>
    UNIT_BYTES - lockedSize(log, payload.slots, { ...place, reference, parts: 1 }) - 1;
  const sized = printedBytes === undefined ? lean : { ...lean, printedBytes };
  const rooms = { lean: roomBeside(lean), sized: roomBeside(sized) };
  const bytesInside = (room: number) =>
    [encoded.byteLength, overhang].find((length) => length <= room) ?? 0;
  const inside = bytesInside(rooms.lean);
  const costsUnit =
    bytesInside(rooms.sized) !== inside || (NOTHING <= rooms.lean && NOTHING > rooms.sized);
  const common = costsUnit ? lean : sized;
  if (inside === encoded.byteLength)
    return { payload: { ...common, inline: encoded, parts: 0 }, parts: [] };

  const parts: Uint8Array[] = [];
  const partBytes = ITEM_BYTES_MAX - keyBytes;
  for (let at = inside; at < encoded.byteLength; at += partBytes) {
    parts.push(encoded.subarray(at, Math.min(at + partBytes, encoded.byteLength)));
  }
  return {
    payload: {
      ...common,
      ...(inside === 0 ? {} : { inline: encoded.subarray(0, inside) }),
      reference,
      parts: parts.length,
    },
    parts,
  };
}
