import type { ReceiverGroup } from '../../broker/ports/messages.ts';
import {
  type Block,
  type BlockRules,
  type BlockSurvey,
  surveyBlock,
} from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { JUST_AFTER } from '../dynamodb/table.ts';
import {
  type ActiveScan,
  lockScopeOf,
  type ScanHint,
  type SkippedRange,
  type SlotReservation,
} from '../hints/scan-hints.ts';
import { randomBelow } from '../hints/spread.ts';
import { blockSortKey, FIRST_BLOCK, logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** The messages of one block that a receive has chosen and reserved. */
export interface Target {
  readonly block: Block;
  readonly slots: readonly number[];
  readonly reservation: SlotReservation;
}

/** Leaves the targets that have not ended yet to other receives. */
export function letGo(context: StoreContext, log: Log, targets: readonly Target[]): void {
  unhide(
    context,
    log,
    targets.filter(({ reservation }) => reservation.end(false)),
  );
}

/** Moves the hint back, which skips what was chosen. */
export function unhide({ scanHints }: StoreContext, log: Log, targets: readonly Target[]): void {
  const sortKeys = targets.map(({ block }) => blockSortKey(block.section, block.sequence));
  scanHints.invalidateFrom(logName(log), sortKeys);
}

/** A block to clean up: it is empty, or holds messages that expired or used up their deliveries. */
export interface Leftover {
  readonly block: Block;
  readonly survey: BlockSurvey;
}

/** What a scan looks for. */
export interface ScanRequest {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly rules: BlockRules;
  /** Present if the messages are for several receivers, whose claims follow each other. */
  readonly group?: ReceiverGroup | undefined;
  /** When the locks of the chosen messages will end, epoch ms; absent for receive-and-delete. */
  readonly lockedUntil?: number;
}

/** What a scan found and chose. */
export interface Scan {
  readonly targets: readonly Target[];
  readonly leftovers: readonly Leftover[];
  /** Whether it chose among blocks that an earlier scan read, so that others may have taken them long ago. */
  readonly isFromMemory: boolean;
  /** Chooses again, among the messages that were read and not chosen yet: other receivers took the targets. */
  readonly chooseOthers: () => readonly Target[];
}

interface ChoiceRequest extends ScanRequest {
  /** Among how many groups of `maxMessages` messages to choose; 1 = always the first. */
  readonly width: number;
}

/** A scan reads at most this many blocks only to have more groups to choose among. */
export const SPREAD_BLOCKS_MAX = 48;
/** One receive cleans up at most this many blocks; the next receive continues. */
const LEFTOVERS_MAX = 24;

/** A block with messages that can be claimed. */
interface FreeBlock {
  readonly block: Block;
  readonly sortKey: string;
  /** Free slots that no other receive of this process is claiming. */
  readonly free: readonly number[];
}

/**
 * A part of the log that a hint may skip: one block with free messages, skipped if this receive claims all of them, or
 * adjacent blocks without any.
 */
interface SkippablePart {
  /** Sort key of the last block. */
  sortKey: string;
  /** When a message in it becomes free because a lock ends, epoch ms. */
  nextFreeAt: number;
  readonly freeBlock: FreeBlock | undefined;
}

/**
 * Chooses messages from the blocks of a log as they are read: the lowest sequence numbers first (semantics L2), without
 * those that are locked (semantics #B7). Blocks may overlap where messages were put back or dead-lettered one by one.
 * It also works out the hint: up to which block nothing is left to receive. It keeps no blocks without free messages,
 * since a log may begin with any number of them.
 */
export class Choice {
  readonly #context: StoreContext;
  readonly #name: string;
  readonly #request: ChoiceRequest;
  readonly #now: number;
  readonly #freeBlocks: FreeBlock[] = [];
  readonly #leftovers: Leftover[] = [];
  /** The start of the log, as far as a hint may skip it. */
  readonly #skippable: SkippablePart[] = [];
  /**
   * The first block that no hint may skip, whatever is chosen: other receives have reserved messages of it, or it must
   * be cleaned up.
   */
  #hintEndsAt: string | undefined;
  readonly #chosen = new Set<Block>();
  #considered = 0;
  #lastSequence = 0n;
  #free = 0;

  constructor(context: StoreContext, log: Log, request: ChoiceRequest, now: number) {
    this.#context = context;
    this.#name = logName(log);
    this.#request = request;
    this.#now = now;
  }

  /** Whether another page of blocks is worth reading. */
  get wantsMore(): boolean {
    const { maxMessages, width } = this.#request;
    if (this.#inFront() < maxMessages) return true;
    return this.#free < maxMessages * width && this.#considered < SPREAD_BLOCKS_MAX;
  }

  /** Whether there are blocks to clean up. */
  get hasLeftovers(): boolean {
    return this.#leftovers.length > 0;
  }

  /** Takes in the next block of the log. */
  consider(block: Block): void {
    const sortKey = blockSortKey(block.section, block.sequence);
    const survey = surveyBlock(block, this.#request.rules, this.#now);
    // A session is received in strict order, so a receive skips no reserved message; the conditions of the
    // writes decide between receives at the same time.
    const isBySession = this.#request.rules.session !== undefined;
    const reserved = isBySession
      ? undefined
      : this.#context.scanHints.reservedIn(this.#name, sortKey);
    const free = reserved === undefined ? survey.free : survey.free.filter((s) => !reserved.has(s));
    this.#considered++;
    this.#lastSequence = block.sequence;
    this.#free += free.length;
    const freeBlock = free.length > 0 ? { block, sortKey, free } : undefined;
    if (freeBlock !== undefined) this.#freeBlocks.push(freeBlock);
    // A receive that claims from this block cleans it up too.
    const isLeft = reserved === undefined && needsCleanUp(block, survey);
    if (isLeft && this.#leftovers.length < LEFTOVERS_MAX) this.#leftovers.push({ block, survey });
    if (isLeft || reserved !== undefined) this.#hintEndsAt ??= sortKey;
    if (this.#hintEndsAt === undefined) this.#skip(sortKey, survey.nextFreeAt, freeBlock);
  }

  #skip(sortKey: string, nextFreeAt = Number.POSITIVE_INFINITY, freeBlock?: FreeBlock): void {
    const before = this.#skippable.at(-1);
    if (before === undefined || before.freeBlock !== undefined || freeBlock !== undefined) {
      this.#skippable.push({ sortKey, nextFreeAt, freeBlock });
    } else {
      before.sortKey = sortKey;
      before.nextFreeAt = Math.min(before.nextFreeAt, nextFreeAt);
    }
  }

  /**
   * How many of the free messages come before everything that was not read. A message that moved into a block
   * of its own may be stored after later messages of its old block, so only those before a gap are certain.
   */
  #inFront(): number {
    return this.#freeBlocks.reduce((sum, { block, free }) => {
      const gap = firstGap(block, Number(this.#lastSequence - block.sequence));
      return sum + free.filter((slot) => slot < gap).length;
    }, 0);
  }

  /** Ends the choice: reserves the targets and stores the hint. `active` knows what changed meanwhile. */
  result(hint: ScanHint | undefined, active: Pick<ActiveScan, 'beganAt' | 'changedAt'>): Scan {
    const taken = this.#take();
    const targets = this.#reserve(taken);
    // Before the claims, so that a receive that starts during them does not read what they claim.
    this.#storeHint(hint, active, this.#skippedRange(taken));
    return {
      targets,
      leftovers: this.#leftovers,
      isFromMemory: false,
      chooseOthers: () => this.#reserve(this.#take()),
    };
  }

  #reserve(taken: ReadonlyMap<Block, readonly number[]>): readonly Target[] {
    const { scanHints } = this.#context;
    return this.#freeBlocks.flatMap(({ block, sortKey }) => {
      const slots = taken.get(block);
      if (slots === undefined) return [];
      this.#chosen.add(block);
      return [{ block, slots, reservation: scanHints.reserve(this.#name, sortKey, slots) }];
    });
  }

  #storeHint(
    hint: ScanHint | undefined,
    { changedAt, beganAt }: Pick<ActiveScan, 'beganAt' | 'changedAt'>,
    skipped: Omit<SkippedRange, 'lockScope'> | undefined,
  ): void {
    if (skipped === undefined) return;
    const { scanHints } = this.#context;
    const isCut = changedAt !== undefined && changedAt < skipped.skipBefore;
    const skipBefore = isCut ? changedAt : skipped.skipBefore;
    // Nothing lies before the first block.
    if (skipBefore < FIRST_BLOCK) return;
    const { validUntil } = skipped;
    const range = { skipBefore, validUntil, lockScope: lockScopeOf(this.#request.rules) };
    if (hint === undefined) scanHints.set(this.#name, range, beganAt);
    else scanHints.advance(this.#name, hint, range);
  }

  /** The slots to claim, by block, in blocks from which nothing was chosen yet. */
  #take(): ReadonlyMap<Block, readonly number[]> {
    const { maxMessages, maxBytes } = this.#request;
    const candidates = this.#freeBlocks
      .filter(({ block }) => !this.#chosen.has(block))
      .flatMap(({ block, free }) =>
        free.map((slot) => ({ block, slot, sequence: block.sequence + BigInt(slot) })),
      )
      .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
    const start = this.#startAmong(candidates.length);
    const taken = new Map<Block, number[]>();
    let bytes = 0;
    for (const { block, slot } of candidates.slice(start, start + maxMessages)) {
      const slots = taken.get(block);
      if (slots !== undefined) {
        slots.push(slot);
        continue;
      }
      // A payload is always read whole, so it counts whole.
      if (taken.size > 0 && bytes + block.payload.bytes > maxBytes) break;
      bytes += block.payload.bytes;
      taken.set(block, [slot]);
    }
    return taken;
  }

  /**
   * Index of the first of `count` messages to choose: the front, or one of the first groups at random (semantics L2).
   */
  #startAmong(count: number): number {
    const { maxMessages, width } = this.#request;
    const starts = Math.min(width, Math.ceil(count / maxMessages));
    if (starts <= 1) return 0;
    const start = maxMessages * randomBelow(this.#context.random, starts);
    return Math.min(start, Math.max(0, count - maxMessages));
  }

  /** Up to which sort key nothing will be free once the claims are done, and until when. */
  #skippedRange(
    taken: ReadonlyMap<Block, readonly number[]>,
  ): Omit<SkippedRange, 'lockScope'> | undefined {
    let validUntil = Number.POSITIVE_INFINITY;
    let last: string | undefined;
    for (const { sortKey, nextFreeAt, freeBlock } of this.#skippable) {
      const slots = freeBlock === undefined ? 0 : (taken.get(freeBlock.block)?.length ?? 0);
      if (freeBlock !== undefined && freeBlock.free.length > slots)
        return { skipBefore: sortKey, validUntil };
      const { lockedUntil } = this.#request;
      validUntil = Math.min(validUntil, nextFreeAt);
      if (slots > 0 && lockedUntil !== undefined) validUntil = Math.min(validUntil, lockedUntil);
      last = sortKey;
    }
    if (this.#hintEndsAt !== undefined) return { skipBefore: this.#hintEndsAt, validUntil };
    return last === undefined ? undefined : { skipBefore: `${last}${JUST_AFTER}`, validUntil };
  }
}

/** The first slot number, counted from `from`, that the block does not have. */
function firstGap({ slots }: Block, from: number): number {
  let number = from;
  while (slots.has(number)) number++;
  return number;
}

/** Whether a block holds something to clean up. */
function needsCleanUp(block: Block, survey: BlockSurvey): boolean {
  return block.slots.size === 0 || survey.expired.length > 0 || survey.exhausted.length > 0;
}
