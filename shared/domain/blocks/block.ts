import { assert } from '../assert.ts';
import { LIMITS } from '../limits.ts';
import type { BlockSection } from './lock-token.ts';
import { availability, type Slot, type SlotRules } from './slot.ts';

/**
 * A block is the unit of storage: messages with neighbouring numbers, usually of one send, each with a slot. The slots
 * are small and change. The messages themselves are the payload, which never changes (docs/decisions/0001).
 */
export interface Block {
  readonly section: BlockSection;
  /** The sequence number of slot 0, without the partition. Slot `k` has this number plus `k`. */
  readonly sequence: bigint;
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** Epoch ms at which messages expire by their own time to live, unless their slot says otherwise. */
  readonly expiresAt?: number;
  /** By slot number. A message that is gone has no slot. */
  readonly slots: ReadonlyMap<number, Slot>;
  readonly payload: PayloadPlace;
  /** For scheduled messages: the session that they join once they are due, if any. */
  readonly sessionId?: string;
}

/** Where the messages of a block are stored: in the block itself, in payload items, or in both. */
export interface PayloadPlace {
  /** The bytes inside the block; they come before those in payload items. */
  readonly inline?: Uint8Array;
  /** Name of the payload items. */
  readonly reference?: string;
  /** If several blocks share the payload items: the item collection of the topic that owns them. */
  readonly sharedIn?: string;
  /** The number of this block among the references to the shared payload items. */
  readonly sharedAs?: number;
  /** How many payload items there are. */
  readonly parts: number;
  /** The index in the payload of the message in slot 0. */
  readonly offset: number;
  /** Decoded size of all messages, bytes: the amount that a receive reads. */
  readonly bytes: number;
  /**
   * Upper bound of the size of these messages as JSON, bytes, without the overlay. Absent = the bound that
   * follows from `bytes` and the number of messages (`printedSizeBound`).
   */
  readonly printedBytes?: number;
  /** Encoded changes to these messages since they were stored, such as the dead-letter reason. */
  readonly overlay?: Uint8Array;
}

/** The slot with an index that is known to be in the block. Throws if it is not there, which is a defect. */
export function slotOf(block: Block, slotIndex: number): Slot {
  const slot = block.slots.get(slotIndex);
  assert(slot !== undefined, 'a chosen slot is in its block');
  return slot;
}

/** The rules of a log that decide what can be done with the messages of a block. */
export interface BlockRules extends SlotRules {
  /** The time to live of messages that have none of their own, ms; absent = unlimited. */
  readonly defaultTimeToLiveMs?: number;
}

/** The messages of a block, sorted by availability. Slot numbers in ascending order. */
export interface BlockSurvey {
  readonly free: readonly number[];
  readonly expired: readonly number[];
  readonly exhausted: readonly number[];
  /** The earliest epoch ms at which a held message becomes free; absent if none is held. */
  readonly nextFreeAt?: number;
}

/**
 * When a message expires, epoch ms; `undefined` = never. A message without a time to live of its own takes
 * the entity's current default, so it follows later changes of that default (semantics V2).
 */
export function expiryOf(block: Block, slot: Slot, rules: BlockRules): number | undefined {
  const own = ownExpiryOf(block, slot);
  if (own !== undefined) return own;
  const { defaultTimeToLiveMs } = rules;
  if (defaultTimeToLiveMs === undefined) return undefined;
  return Math.min(block.enqueuedAt + defaultTimeToLiveMs, LIMITS.instantMax);
}

/**
 * When a message expires by its own time to live, epoch ms, fixed at its enqueue and in the year 9999 at the latest
 * (semantics V1); `undefined` = it has none.
 */
export function ownExpiryOf(block: Block, slot: Slot): number | undefined {
  const expiresAt = slot.expiresAt ?? block.expiresAt;
  return expiresAt === undefined ? undefined : Math.min(expiresAt, LIMITS.instantMax);
}

/** Sorts the messages of a block by their availability at `now` (epoch ms). */
export function surveyBlock(block: Block, rules: BlockRules, now: number): BlockSurvey {
  const free: number[] = [];
  const expired: number[] = [];
  const exhausted: number[] = [];
  let nextFreeAt: number | undefined;
  for (const [number, slot] of block.slots) {
    const state = availability(slot, expiryOf(block, slot, rules), rules, now);
    if (state.kind === 'free') free.push(number);
    else if (state.kind === 'expired') expired.push(number);
    else if (state.kind === 'exhausted') exhausted.push(number);
    else if (nextFreeAt === undefined || state.until < nextFreeAt) nextFreeAt = state.until;
  }
  const inOrder = (a: number, b: number) => a - b;
  return {
    free: free.sort(inOrder),
    expired: expired.sort(inOrder),
    exhausted: exhausted.sort(inOrder),
    ...(nextFreeAt === undefined ? {} : { nextFreeAt }),
  };
}

const PARTITION_SHIFT = 48n;

/** The 64-bit sequence number that clients see, with the partition in the top 16 bits (semantics M10). */
export function sequenceNumberOf(partition: number, sequence: bigint): bigint {
  return (BigInt(partition) << PARTITION_SHIFT) | sequence;
}

/** The inverse of `sequenceNumberOf`. */
export function splitSequenceNumber(number: bigint): { partition: number; sequence: bigint } {
  return {
    partition: Number(number >> PARTITION_SHIFT),
    sequence: number & ((1n << PARTITION_SHIFT) - 1n),
  };
}
