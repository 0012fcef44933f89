import { type Block, type BlockRules, type BlockSurvey, surveyBlock } from '../domain/block.ts';
import type { Log } from '../domain/log.ts';
import { JUST_AFTER, readBlocks } from './blocks.ts';
import { blockSortKey, FIRST_BLOCK, logKey } from './keys.ts';
import type { StoreContext } from './store-context.ts';

/** Messages that a receive has chosen in one block. Its reservation lasts until `release`. */
export interface Target {
  readonly block: Block;
  readonly slots: readonly number[];
  readonly release: () => void;
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

export interface Scan {
  readonly targets: readonly Target[];
  readonly leftovers: readonly Leftover[];
  /** To be called when the claims are over: with the sort keys of blocks that were not got. */
  readonly remember: (lost: readonly string[]) => void;
}

/** One answer tidies at most this many blocks; the next receive goes on. */
const LEFTOVERS_MAX = 24;
const PAGE_MIN = 4;
const PAGE_MAX = 400;
/** A first page of more blocks than this would read too much where blocks are full. */
const FIRST_PAGE_MAX = 26;
/** Eventually consistent, this many full blocks cost one read unit. */
const LOOK_BLOCKS = 8;

/**
 * Reads a log from its front and chooses what to claim, in order. One query as a rule; more only
 * while nothing was found, or less than asked for.
 */
export async function scan(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
): Promise<Scan> {
  const { fronts } = context;
  const name = logKey(log);
  const memory = fronts.recall(name, now);
  if (memory === undefined) return await walk(context, log, request, now, FIRST_BLOCK);

  const isFresh = fronts.isFresh(memory);
  const [found] = await Promise.all([
    walk(context, log, request, now, memory.from),
    isFresh ? undefined : lookAgain(context, log, request.rules, now),
  ]);
  if (found.targets.length > 0 || isFresh) return found;
  // Nothing behind: before saying so, look at everything in front.
  fronts.forget(name);
  return await walk(context, log, request, now, FIRST_BLOCK);
}

async function walk(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
  from: string,
): Promise<Scan> {
  const choice = new Choice(context, log, request, now);
  let start: string | undefined = from;
  let limit = firstPage(request.maxMessages, context.fronts.reservedBlocks(logKey(log)));
  while (start !== undefined && choice.wantsMore) {
    const page = await readBlocks(context, log, { from: start, limit, consistent: true });
    for (const block of page.blocks) {
      if (!choice.wantsMore) break;
      choice.consider(block);
    }
    start = page.next;
    limit = Math.min(PAGE_MAX, limit * 2);
  }
  return choice.result(from);
}

function firstPage(maxMessages: number, reserved: number): number {
  // Messages may lie alone in their blocks, or by the dozen.
  const guess = Math.min(maxMessages + 1, FIRST_PAGE_MAX) + reserved;
  return Math.min(PAGE_MAX, Math.max(PAGE_MIN, guess));
}

/**
 * Looks at one more piece of what the memory skips. Where something can be had there, the memory
 * was wrong: another process put it back, or a slow sender's block came late.
 */
async function lookAgain(
  context: StoreContext,
  log: Log,
  rules: BlockRules,
  now: number,
): Promise<void> {
  const { fronts } = context;
  const name = logKey(log);
  const memory = fronts.recall(name, now);
  if (memory === undefined) return;
  const { blocks, next } = await readBlocks(context, log, {
    from: memory.cursor ?? FIRST_BLOCK,
    to: memory.from,
    limit: LOOK_BLOCKS,
    consistent: false,
  });
  const inFront = blocks.filter((block) => sortKeyOf(block) < memory.from);
  const isOpen = inFront.some((block) => surveyBlock(block, rules, now).free.length > 0);
  if (isOpen) fronts.forget(name);
  else fronts.noteLook(name, next);
}

function sortKeyOf(block: Block): string {
  return blockSortKey(block.store, block.sequence);
}

/** Chooses from blocks as they come by, and follows how far the log is closed from its front on. */
class Choice {
  readonly #context: StoreContext;
  readonly #name: string;
  readonly #request: ScanRequest;
  readonly #now: number;
  readonly #targets: Target[] = [];
  readonly #leftovers: Leftover[] = [];
  #messages = 0;
  #bytes = 0;
  #isFull = false;
  /** The first block in which something is left for others. */
  #firstOpen: string | undefined;
  #lastSeen: string | undefined;
  #closedUntil = Number.POSITIVE_INFINITY;

  constructor(context: StoreContext, log: Log, request: ScanRequest, now: number) {
    this.#context = context;
    this.#name = logKey(log);
    this.#request = request;
    this.#now = now;
  }

  get wantsMore(): boolean {
    return !this.#isFull && this.#messages < this.#request.maxMessages;
  }

  consider(block: Block): void {
    const { fronts } = this.#context;
    const sortKey = sortKeyOf(block);
    const survey = surveyBlock(block, this.#request.rules, this.#now);
    const reserved = fronts.reservedIn(this.#name, sortKey);
    const free = reserved === undefined ? survey.free : survey.free.filter((s) => !reserved.has(s));
    const slots = this.#take(block, free);
    if (slots.length > 0) {
      const release = fronts.reserve(this.#name, sortKey, slots);
      this.#targets.push({ block, slots, release });
    }
    const isOver =
      block.slots.size === 0 || survey.expired.length > 0 || survey.exhausted.length > 0;
    const isLeftover = isOver && reserved === undefined;
    if (isLeftover && this.#leftovers.length < LEFTOVERS_MAX) {
      this.#leftovers.push({ block, survey });
    }
    this.#follow(sortKey, survey, slots.length, isLeftover || survey.free.length > slots.length);
  }

  #take(block: Block, free: readonly number[]): readonly number[] {
    if (free.length === 0) return [];
    const { maxMessages, maxBytes } = this.#request;
    // The payload is read as a whole, so a block counts as a whole.
    if (this.#messages > 0 && this.#bytes + block.payload.bytes > maxBytes) {
      this.#isFull = true;
      return [];
    }
    const slots = free.slice(0, maxMessages - this.#messages);
    this.#messages += slots.length;
    this.#bytes += block.payload.bytes;
    return slots;
  }

  #follow(sortKey: string, survey: BlockSurvey, taken: number, isOpen: boolean): void {
    this.#lastSeen = sortKey;
    if (this.#firstOpen !== undefined) return;
    if (isOpen) {
      this.#firstOpen = sortKey;
      return;
    }
    const { lockedUntil } = this.#request;
    if (survey.nextFreeAt !== undefined) this.#closeUntil(survey.nextFreeAt);
    if (taken > 0 && lockedUntil !== undefined) this.#closeUntil(lockedUntil);
  }

  #closeUntil(instant: number): void {
    this.#closedUntil = Math.min(this.#closedUntil, instant);
  }

  result(from: string): Scan {
    const remember = (lost: readonly string[]) => {
      const open = this.#firstOpen ?? (this.#lastSeen && `${this.#lastSeen}${JUST_AFTER}`);
      if (open === undefined) return;
      const front = [open, ...lost].sort()[0] ?? open;
      const { fronts } = this.#context;
      const memory = fronts.recall(this.#name, this.#now);
      if (from === FIRST_BLOCK) fronts.remember(this.#name, front, this.#closedUntil);
      else if (memory !== undefined) fronts.advance(this.#name, memory, front, this.#closedUntil);
    };
    return { targets: this.#targets, leftovers: this.#leftovers, remember };
  }
}
