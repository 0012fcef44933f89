import { type Block, type BlockRules, type BlockSurvey, surveyBlock } from '../domain/block.ts';
import type { Log } from '../domain/log.ts';
import { JUST_AFTER, readBlocks } from './blocks.ts';
import { type Closed, type FrontMemory, holdsOf } from './front-memory.ts';
import { blockSortKey, FIRST_BLOCK, logName } from './keys.ts';
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
  const name = logName(log);
  // In a session the order is strict: what another process put back in front must not be passed over.
  const isStrict = request.rules.session !== undefined;
  const memory = isStrict ? undefined : fronts.recall(name, now, holdsOf(request.rules));
  if (memory === undefined) return await walk(context, log, request, now);

  const isFresh = fronts.isFresh(memory);
  const [found] = await Promise.all([
    walk(context, log, request, now, memory),
    isFresh
      ? undefined
      : lookAgain(context, log, memory, request.rules, now).catch(() => fronts.forget(name)),
  ]);
  if (found.targets.length > 0 || isFresh) return found;
  // Nothing behind: before saying so, look at everything in front.
  fronts.forget(name);
  return await walk(context, log, request, now);
}

/** Walks from what is remembered on, or from the first block. */
async function walk(
  context: StoreContext,
  log: Log,
  request: ScanRequest,
  now: number,
  memory?: FrontMemory,
): Promise<Scan> {
  const choice = new Choice(context, log, request, now);
  let start = memory?.from ?? FIRST_BLOCK;
  const watch = context.fronts.beginScan(logName(log));
  let limit = firstPage(request.maxMessages, watch.others);
  try {
    while (choice.wantsMore) {
      const page = await readBlocks(context, log, { from: start, limit, consistent: true });
      for (const block of page.blocks) choice.consider(block);
      if (page.next === undefined) break;
      start = page.next;
      limit = Math.min(PAGE_MAX, limit * 2);
    }
    return choice.result(memory, watch.openedAt);
  } finally {
    watch.end();
  }
}

function firstPage(maxMessages: number, others: number): number {
  // Messages may lie alone in their blocks, or by the dozen; others choose from the same blocks.
  const guess = Math.min(maxMessages + 1, FIRST_PAGE_MAX) + others;
  return Math.min(PAGE_MAX, Math.max(PAGE_MIN, guess));
}

/**
 * Looks at one more piece of what the memory skips. Where something can be had there, the memory
 * was wrong: another process put it back, or a slow sender's block came late.
 */
async function lookAgain(
  context: StoreContext,
  log: Log,
  memory: FrontMemory,
  rules: BlockRules,
  now: number,
): Promise<void> {
  const { fronts } = context;
  const name = logName(log);
  const { blocks, next } = await readBlocks(context, log, {
    from: memory.cursor ?? FIRST_BLOCK,
    to: memory.from,
    limit: LOOK_BLOCKS,
    consistent: false,
  });
  const inFront = blocks.filter((block) => sortKeyOf(block) < memory.from);
  const isOpen = inFront.some((block) => surveyBlock(block, rules, now).free.length > 0);
  if (isOpen) fronts.noteReturn(name);
  else fronts.noteLook(name, memory, next);
}

function sortKeyOf(block: Block): string {
  return blockSortKey(block.store, block.sequence);
}

/** What one block has to offer. */
interface Offer {
  readonly block: Block;
  readonly sortKey: string;
  readonly survey: BlockSurvey;
  /** Free, and not being claimed by others of this process. */
  readonly free: readonly number[];
  readonly isReserved: boolean;
}

/**
 * Chooses from blocks as they come by, the lowest numbers first: blocks may overlap where messages
 * were put back or dead-lettered one by one. Follows how far the log is closed from its front on.
 */
class Choice {
  readonly #context: StoreContext;
  readonly #name: string;
  readonly #request: ScanRequest;
  readonly #now: number;
  readonly #offers: Offer[] = [];
  #free = 0;

  constructor(context: StoreContext, log: Log, request: ScanRequest, now: number) {
    this.#context = context;
    this.#name = logName(log);
    this.#request = request;
    this.#now = now;
  }

  get wantsMore(): boolean {
    return this.#free < this.#request.maxMessages;
  }

  consider(block: Block): void {
    const sortKey = sortKeyOf(block);
    const survey = surveyBlock(block, this.#request.rules, this.#now);
    const reserved = this.#context.fronts.reservedIn(this.#name, sortKey);
    const free = reserved === undefined ? survey.free : survey.free.filter((s) => !reserved.has(s));
    this.#offers.push({ block, sortKey, survey, free, isReserved: reserved !== undefined });
    this.#free += free.length;
  }

  /** `openedAt`: where something came in front while this was read. */
  result(memory: FrontMemory | undefined, openedAt: string | undefined): Scan {
    const { fronts } = this.#context;
    const taken = this.#take();
    const targets = this.#offers.flatMap(({ block, sortKey }) => {
      const slots = taken.get(block);
      if (slots === undefined) return [];
      return [{ block, slots, release: fronts.reserve(this.#name, sortKey, slots) }];
    });
    const over = this.#offers.filter(isOver);
    // Before the claims: who comes while they are under way need not look at what is being claimed.
    this.#remember(memory, openedAt, this.#closed(taken));
    return { targets, leftovers: over.slice(0, LEFTOVERS_MAX) };
  }

  #remember(
    memory: FrontMemory | undefined,
    openedAt: string | undefined,
    closed: Omit<Closed, 'holds'> | undefined,
  ): void {
    if (closed === undefined) return;
    const { fronts } = this.#context;
    const holds = holdsOf(this.#request.rules);
    const from = openedAt !== undefined && openedAt < closed.from ? openedAt : closed.from;
    const now = { from, until: closed.until, holds };
    // In front of the first block nothing is closed.
    if (from < FIRST_BLOCK) return;
    if (memory === undefined) fronts.remember(this.#name, now);
    else fronts.advance(this.#name, memory, now);
  }

  /** The slots to claim, by block. */
  #take(): ReadonlyMap<Block, readonly number[]> {
    const { maxMessages, maxBytes } = this.#request;
    const places = this.#offers
      .flatMap(({ block, free }) =>
        free.map((slot) => ({ block, slot, sequence: block.sequence + BigInt(slot) })),
      )
      .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
    const taken = new Map<Block, number[]>();
    let bytes = 0;
    for (const { block, slot } of places.slice(0, maxMessages)) {
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

  /** From where on something is left once the claims are done, and until when that holds. */
  #closed(taken: ReadonlyMap<Block, readonly number[]>): Omit<Closed, 'holds'> | undefined {
    let until = Number.POSITIVE_INFINITY;
    let last: string | undefined;
    for (const offer of this.#offers) {
      const { block, sortKey, survey, isReserved } = offer;
      const slots = taken.get(block)?.length ?? 0;
      const isOpen = isOver(offer) || isReserved || survey.free.length > slots;
      if (isOpen) return { from: sortKey, until };
      const { lockedUntil } = this.#request;
      if (survey.nextFreeAt !== undefined) until = Math.min(until, survey.nextFreeAt);
      if (slots > 0 && lockedUntil !== undefined) until = Math.min(until, lockedUntil);
      last = sortKey;
    }
    return last === undefined ? undefined : { from: `${last}${JUST_AFTER}`, until };
  }
}

/** Whether something in a block has to be cleared, which nobody else is at. */
function isOver({ block, survey, isReserved }: Offer): boolean {
  if (isReserved) return false;
  return block.slots.size === 0 || survey.expired.length > 0 || survey.exhausted.length > 0;
}
