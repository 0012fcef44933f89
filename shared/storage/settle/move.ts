import { pack } from 'msgpackr';
import type { Block, PayloadPlace } from '../../domain/blocks/block.ts';
import type { BlockSection } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Slot } from '../../domain/blocks/slot.ts';
import type { Message } from '../../domain/messages/message.ts';
import { madeHere, toBlockItem } from '../blocks/block-item.ts';
import { RETURN_BLOCK } from '../blocks/block-removal.ts';
import {
  blockDelete,
  blockUpdate,
  ifSameProperties,
  type SlotChange,
  type SlotCondition,
} from '../blocks/block-writes.ts';
import { encodeMessages, packProperties } from '../blocks/message-codec.ts';
import { layPayload, sizeOf } from '../blocks/pack-blocks.ts';
import {
  changedBy,
  decodeOverlay,
  loadMessages,
  type Overlay,
  putPayloads,
  releasePayload,
} from '../blocks/payloads.ts';
import { printedBytesToStore } from '../blocks/printed-bytes.ts';
import { announce, keyOf } from '../blocks/read-blocks.ts';
import { newItems, type Outcome, type PreparedWrite, run } from '../dynamodb/prepared-write.ts';
import type { Write } from '../dynamodb/table.ts';
import { payloadCollection, randomName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** Messages that leave a block together for one new block. */
export interface MoveOut {
  readonly slots: readonly MovedSlot[];
  readonly to: Log;
  readonly section: BlockSection;
  readonly overlay: Overlay;
}

/** A slot that moves into a new block. */
export interface MovedSlot {
  readonly number: number;
  readonly when: SlotCondition;
  /** The slot in its new block. */
  readonly after: Slot;
}

/** Messages that leave a block for good, in the same write. */
export interface Removal {
  readonly number: number;
  readonly when: SlotCondition;
}

/**
 * Moves messages within an entity, out of one block and into new blocks, in one transaction, so that a crash neither
 * loses nor duplicates one (semantics #A17). They keep their sequence numbers and enqueued times (semantics M11, #35).
 * `block` may be an old image; the conditions decide.
 */
export async function moveOut(
  context: StoreContext,
  log: Log,
  block: Block,
  moves: readonly MoveOut[],
  removals: readonly Removal[] = [],
): Promise<Outcome> {
  const changes = removals.map(removed);
  const move = await prepareMove(context, log, block, moves, changes);
  if (move === undefined) return { done: false, refused: new Map(), isUncertain: false };
  return await run(context.table, [move]);
}

/**
 * Prepares the write that moves messages out of a block and changes others of it. It writes the payloads of the new
 * blocks before it returns. Undefined = the block is gone, and its payload with it.
 */
export async function prepareMove(
  context: StoreContext,
  log: Log,
  block: Block,
  moves: readonly MoveOut[],
  changes: readonly SlotChange[],
): Promise<PreparedWrite | undefined> {
  const { table } = context;
  const moved = moves.flatMap(({ slots }) => slots);
  const leaving = [...moved, ...changes.filter(({ effect }) => effect.kind === 'remove')];
  const isWhole = leaving.length === block.slots.size;
  const [only] = moves;
  const mayTakePayload =
    isWhole &&
    moved.length === leaving.length &&
    moves.length === 1 &&
    only !== undefined &&
    payloadCollection(only.to) === payloadCollection(log);

  const arrivals =
    mayTakePayload && only !== undefined
      ? [transferred(block, only)]
      : await copied(context, log, block, moves);
  if (arrivals === undefined) return undefined;
  const key = keyOf(log, block);
  const source: Write = isWhole
    ? { delete: key, ...ifSameProperties(blockDelete(leaving), block), ...RETURN_BLOCK }
    : { update: key, ...blockUpdate([...moved.map(removed), ...changes]), ...RETURN_BLOCK };
  // Another process that moves the same messages makes blocks with the same keys.
  const arrived = arrivals.map((one) => madeHere(context.random, toBlockItem(one.to, one.arrived)));
  return {
    writes: [source, ...newItems(arrived)],
    announce: () => {
      for (const one of arrivals) announce(context, one.to, one.arrived);
    },
    onDone: () => {
      if (isWhole && !mayTakePayload)
        context.background(() => releasePayload(table, log, block.payload));
    },
    onRefused: () => {
      if (mayTakePayload) return;
      for (const one of arrivals) {
        context.background(() => releasePayload(table, one.to, one.arrived.payload));
      }
    },
  };
}

function removed({ number, when }: Removal): SlotChange {
  return { number, when, effect: { kind: 'remove' } };
}

interface MovedBlock {
  readonly to: Log;
  readonly arrived: Block;
}

/** The whole block moves: the new block takes over its payload, which is neither read nor written. */
function transferred(block: Block, move: MoveOut): MovedBlock {
  const { payload } = block;
  const overlay = mergeOverlays(payload.overlay, move.overlay);
  const first = firstOf(move);
  const { overlay: _, ...place } = payload;
  return arrival(block, move, {
    ...place,
    offset: payload.offset + first,
    ...(overlay === undefined ? {} : { overlay }),
  });
}

/**
 * Some of the block's messages move: each new block gets a payload of its own. Undefined = the block is gone, and its
 * payload with it.
 */
async function copied(
  context: StoreContext,
  log: Log,
  block: Block,
  moves: readonly MoveOut[],
): Promise<MovedBlock[] | undefined> {
  if (moves.length === 0) return [];
  const { table, random } = context;
  const loaded = await loadMessages(context, log, [block]);
  if (!loaded.has(block)) return undefined;
  const now = context.clock.now();
  return await Promise.all(
    moves.map(async (move) => {
      const first = firstOf(move);
      const messages: (Message | undefined)[] = [];
      for (const { number } of move.slots) {
        messages[number - first] = changedBy(loaded.at(block, number), move.overlay);
      }
      const leaving = messages.filter((message) => message !== undefined);
      const bytes = leaving.reduce((sum, message) => sum + sizeOf(message), 0);
      const { payload, parts } = layPayload(move.to, {
        slots: newSlots(move),
        encoded: await encodeMessages(Array.from(messages), context.compression),
        bytes,
        printedBytes: printedBytesToStore(leaving, bytes),
        reference: randomName(random),
      });
      const { reference } = payload;
      if (reference !== undefined) await putPayloads(table, move.to, [{ reference, parts }], now);
      return arrival(block, move, payload);
    }),
  );
}

function arrival(block: Block, move: MoveOut, payload: PayloadPlace): MovedBlock {
  const arrived: Block = {
    section: move.section,
    sequence: block.sequence + BigInt(firstOf(move)),
    enqueuedAt: block.enqueuedAt,
    ...(block.expiresAt === undefined ? {} : { expiresAt: block.expiresAt }),
    slots: newSlots(move),
    payload,
  };
  return { to: move.to, arrived };
}

function newSlots(move: MoveOut): Map<number, Slot> {
  const first = firstOf(move);
  return new Map(move.slots.map(({ number, after }) => [number - first, after]));
}

/** A new block has the number of its first message, which no other block in that log has. */
function firstOf(move: MoveOut): number {
  return Math.min(...move.slots.map(({ number }) => number));
}

/** Merges overlays; for each name the later value wins (semantics #12). */
export function mergeOverlays(old: Uint8Array | undefined, added: Overlay): Uint8Array | undefined {
  const before = decodeOverlay(old);
  const properties = packProperties({ ...before.properties, ...added.properties });
  const source = added.deadLetterSource ?? before.deadLetterSource;
  if (properties === undefined && source === undefined) return undefined;
  return pack([properties ?? null, source ?? null]);
}
