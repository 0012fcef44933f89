import {
  type Block,
  type BlockRules,
  type BlockSurvey,
  surveyBlock,
} from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { JUST_AFTER } from '../blocks/read-blocks.ts';
import {
  type Closed,
  type FrontMemory,
  holdsOf,
  type Reservation,
  type ScanWatch,
} from '../hints/scan-hints.ts';
import { randomBelow } from '../hints/spread.ts';
import { blockSortKey, FIRST_BLOCK, logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** Messages that a receive has chosen in one block, and reserved. */
export interface Target {
  readonly block: Block;
  readonly slots: readonly number[];
  readonly reservation: Reservation;
}

/** A block in which something is over: expired, used up, or empty. */
export interface Leftover {
  readonly block: Block;
  readonly survey: BlockSurvey;
}

export interface ScanRequest {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly rules: BlockRules;
  /** Until when what is chosen will be held, epoch ms; absent when it will be removed. */
  readonly lockedUntil?: number;
}

/** What was found in a log, and chosen. */
export interface Scan {
  readonly targets: readonly Target[];
  readonly leftovers: readonly Leftover[];
  /** Chooses among what was read and has not been chosen yet, once others had the targets. */
  readonly chooseOthers: () => readonly Target[];
}

interface ChoiceRequest extends ScanRequest {
  /** Among how many places to choose, each of `maxMessages` messages; 1 = the first. */
  readonly width: number;
}

/** For the sake of a choice, no more blocks than this are read. */
export const SPREAD_BLOCKS_MAX = 48;
/** One answer tidies at most this many blocks; the next receive goes on. */
const LEFTOVERS_MAX = 24;

/** What one block has to offer. */
interface Offer {
  readonly block: Block;
  readonly sortKey: string;
  /** Free, and not being claimed by others of this process. */
  readonly free: readonly number[];
}

/** One block in which something is free, or any number one after the other in which nothing is. */
interface Stretch {
  /** Of the last of them. */
  sortKey: string;
  /** When something in them comes free by itself, epoch ms. */
  nextFreeAt: number;
  readonly offer: Offer | undefined;
}

/**
 * Chooses from blocks as they come by, the lowest numbers first: blocks may overlap where messages
 * were put back or dead-lettered one by one. Follows how far the log is closed from its front on. Keeps
 * no block in which there is nothing to be had: a log may begin with any number of those.
 */
export class Choice {
  readonly #context: StoreContext;
  readonly #name: string;
  readonly #request: ChoiceRequest;
  readonly #now: number;
  readonly #offers: Offer[] = [];
  readonly #leftovers: Leftover[] = [];
  /** From the front on, as far as the log may turn out to be closed. */
  readonly #stretches: Stretch[] = [];
  /** The first block that stays open whatever is chosen. */
  #openAt: string | undefined;
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

  get wantsMore(): boolean {
    const { maxMessages, width } = this.#request;
    if (this.#inFront() < maxMessages) return true;
    return this.#free < maxMessages * width && this.#considered < SPREAD_BLOCKS_MAX;
  }

  consider(block: Block): void {
    const sortKey = blockSortKey(block.store, block.sequence);
    const survey = surveyBlock(block, this.#request.rules, this.#now);
    // In a session nothing is passed over: of receives at once, the conditions of the writes decide.
    const isBySession = this.#request.rules.session !== undefined;
    const reserved = isBySession ? undefined : this.#context.fronts.reservedIn(this.#name, sortKey);
    const free = reserved === undefined ? survey.free : survey.free.filter((s) => !reserved.has(s));
    this.#considered++;
    this.#lastSequence = block.sequence;
    this.#free += free.length;
    const offer = free.length > 0 ? { block, sortKey, free } : undefined;
    if (offer !== undefined) this.#offers.push(offer);
    // Where others are at it, they clear it too.
    const isLeft = reserved === undefined && isOver(block, survey);
    if (isLeft && this.#leftovers.length < LEFTOVERS_MAX) this.#leftovers.push({ block, survey });
    if (isLeft || reserved !== undefined) this.#openAt ??= sortKey;
    if (this.#openAt === undefined) this.#pass(sortKey, survey.nextFreeAt, offer);
  }

  #pass(sortKey: string, nextFreeAt = Number.POSITIVE_INFINITY, offer?: Offer): void {
    const before = this.#stretches.at(-1);
    if (before === undefined || before.offer !== undefined || offer !== undefined) {
      this.#stretches.push({ sortKey, nextFreeAt, offer });
    } else {
      before.sortKey = sortKey;
      before.nextFreeAt = Math.min(before.nextFreeAt, nextFreeAt);
    }
  }

  /**
   * How many of the free messages come before all that was not read: a message that left its block for one
   * of its own lies behind it, perhaps behind later messages of the block.
   */
  #inFront(): number {
    return this.#offers.reduce((sum, { block, free }) => {
      const gap = firstGap(block, Number(this.#lastSequence - block.sequence));
      return sum + free.filter((slot) => slot < gap).length;
    }, 0);
  }

  /** `watch` tells where something came in front while this was read. */
  result(memory: FrontMemory | undefined, watch: ScanWatch): Scan {
    const taken = this.#take();
    const targets = this.#reserve(taken);
    // Before the claims: a receive that comes while they are under way need not look at what they claim.
    this.#remember(memory, watch, this.#closed(taken));
    return {
      targets,
      leftovers: this.#leftovers,
      chooseOthers: () => this.#reserve(this.#take()),
    };
  }

  #reserve(taken: ReadonlyMap<Block, readonly number[]>): readonly Target[] {
    const { fronts } = this.#context;
    return this.#offers.flatMap(({ block, sortKey }) => {
      const slots = taken.get(block);
      if (slots === undefined) return [];
      this.#chosen.add(block);
      return [{ block, slots, reservation: fronts.reserve(this.#name, sortKey, slots) }];
    });
  }

  #remember(
    memory: FrontMemory | undefined,
    { openedAt, beganAt }: ScanWatch,
    closed: Omit<Closed, 'holds'> | undefined,
  ): void {
    if (closed === undefined) return;
    const { fronts } = this.#context;
    const holds = holdsOf(this.#request.rules);
    const from = openedAt !== undefined && openedAt < closed.from ? openedAt : closed.from;
    const now = { from, until: closed.until, holds };
    // In front of the first block nothing is closed.
    if (from < FIRST_BLOCK) return;
    if (memory === undefined) fronts.remember(this.#name, now, beganAt);
    else fronts.advance(this.#name, memory, now);
  }

  /** The slots to claim, by block, among those in which nothing was chosen yet. */
  #take(): ReadonlyMap<Block, readonly number[]> {
    const { maxMessages, maxBytes } = this.#request;
    const places = this.#offers
      .filter(({ block }) => !this.#chosen.has(block))
      .flatMap(({ block, free }) =>
        free.map((slot) => ({ block, slot, sequence: block.sequence + BigInt(slot) })),
      )
      .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
    const start = this.#startAmong(places.length);
    const taken = new Map<Block, number[]>();
    let bytes = 0;
    for (const { block, slot } of places.slice(start, start + maxMessages)) {
      const slots = taken.get(block);
      if (slots !== undefined) {
        slots.push(slot);
        continue;
      }
      // The payload is read as a whole, so a block counts as a whole.
      if (taken.size > 0 && bytes + block.payload.bytes > maxBytes) break;
      bytes += block.payload.bytes;
      taken.set(block, [slot]);
    }
    return taken;
  }

  /** Where among so many messages to begin: at the front, or at one of the first places at random. */
  #startAmong(count: number): number {
    const { maxMessages, width } = this.#request;
    const places = Math.min(width, Math.ceil(count / maxMessages));
    if (places <= 1) return 0;
    const start = maxMessages * randomBelow(this.#context.random, places);
    return Math.min(start, Math.max(0, count - maxMessages));
  }

  /** From where on something is left once the claims are done, and until when that holds. */
  #closed(taken: ReadonlyMap<Block, readonly number[]>): Omit<Closed, 'holds'> | undefined {
    let until = Number.POSITIVE_INFINITY;
    let last: string | undefined;
    for (const { sortKey, nextFreeAt, offer } of this.#stretches) {
      const slots = offer === undefined ? 0 : (taken.get(offer.block)?.length ?? 0);
      if (offer !== undefined && offer.free.length > slots) return { from: sortKey, until };
      const { lockedUntil } = this.#request;
      until = Math.min(until, nextFreeAt);
      if (slots > 0 && lockedUntil !== undefined) until = Math.min(until, lockedUntil);
      last = sortKey;
    }
    if (this.#openAt !== undefined) return { from: this.#openAt, until };
    return last === undefined ? undefined : { from: `${last}${JUST_AFTER}`, until };
  }
}

/** The first slot from a number on that is not in the block, or not any more. */
function firstGap({ slots }: Block, from: number): number {
  let number = from;
  while (slots.has(number)) number++;
  return number;
}

/** Whether something in a block has to be cleared. */
function isOver(block: Block, survey: BlockSurvey): boolean {
  return block.slots.size === 0 || survey.expired.length > 0 || survey.exhausted.length > 0;
}
