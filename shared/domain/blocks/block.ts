import { assert } from '../assert.ts';
import { LIMITS } from '../limits.ts';
import type { BlockStore } from './lock-token.ts';
import { availability, type Slot, type SlotRules } from './slot.ts';

/**
 * A block is the unit of storage: the messages of one send, in order, each with a slot. The block
 * is small and changes; the messages themselves are its payload, which never does (docs/decisions/0001).
 */
export interface Block {
  readonly store: BlockStore;
  /** The sequence number of slot 0, without the partition. Slot `k` has this plus `k`. */
  readonly sequence: bigint;
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** Epoch ms at which the own time to live of every message ends whose slot says nothing else. */
  readonly expiresAt?: number;
  readonly slots: ReadonlyMap<number, Slot>;
  readonly payload: PayloadPlace;
  /** Of scheduled messages: the session into which they go once they are due, where there is one. */
  readonly sessionId?: string;
}

/** Where the messages of a block lie: in the block itself, in payload items, or in both. */
export interface PayloadPlace {
  /** The bytes inside the block; with payload items these come first. */
  readonly inline?: Uint8Array;
  /** Name of the payload items. */
  readonly reference?: string;
  /** Whose they are, where several blocks share them: the item collection of a topic's payloads. */
  readonly sharedIn?: string;
  /** Which of those that share it this block is. */
  readonly sharer?: number;
  readonly parts: number;
  /** The place in the payload of the message in slot 0. */
  readonly offset: number;
  /** Size of all messages, decoded, in bytes: what a receive reads. */
  readonly bytes: number;
  /**
   * The most that these messages print in an answer, bytes, without the overlay; absent = no more than
   * follows from `bytes` and the number of messages (`printedSizeOf`).
   */
  readonly printedBytes?: number;
  /** What happened to these messages since they were encoded (dead-letter reason and the like). */
  readonly overlay?: Uint8Array;
}

/** The slot of a message that is known to be in the block. */
export function slotOf(block: Block, number: number): Slot {
  const slot = block.slots.get(number);
  assert(slot !== undefined, 'a chosen slot is in its block');
  return slot;
}

/** The rules of a log, and how long messages without a time to live of their own are kept. */
export interface BlockRules extends SlotRules {
  readonly defaultTimeToLiveMs?: number;
}

/** What a look at a block tells a receiver. Slot numbers in order. */
export interface BlockSurvey {
  readonly free: readonly number[];
  readonly expired: readonly number[];
  readonly exhausted: readonly number[];
  /** The earliest instant at which a held message comes free; absent where none is held. */
  readonly nextFreeAt?: number;
}

/**
 * When a message's time to live ends: its own, or, where it has none, the entity's at this moment,
 * so that a later change of the entity's default is followed (semantics V2).
 */
export function expiryOf(block: Block, slot: Slot, rules: BlockRules): number | undefined {
  const own = ownExpiryOf(block, slot);
  if (own !== undefined) return own;
  const { defaultTimeToLiveMs } = rules;
  if (defaultTimeToLiveMs === undefined) return undefined;
  return Math.min(block.enqueuedAt + defaultTimeToLiveMs, LIMITS.instantMax);
}

/** When the message's own time to live ends, fixed as it was enqueued. */
export function ownExpiryOf(block: Block, slot: Slot): number | undefined {
  const expiresAt = slot.expiresAt ?? block.expiresAt;
  return expiresAt === undefined ? undefined : Math.min(expiresAt, LIMITS.instantMax);
}

/** Sorts the messages of a block by what a receiver may do with them now. */
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

/** The 64-bit number clients see: the partition in the top 16 bits (semantics M10). */
export function sequenceNumberOf(partition: number, sequence: bigint): bigint {
  return (BigInt(partition) << PARTITION_SHIFT) | sequence;
}

/** Takes a 64-bit number apart again. */
export function splitSequenceNumber(number: bigint): { partition: number; sequence: bigint } {
  return {
    partition: Number(number >> PARTITION_SHIFT),
    sequence: number & ((1n << PARTITION_SHIFT) - 1n),
  };
}
