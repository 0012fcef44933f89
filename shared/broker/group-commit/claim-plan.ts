import type { PayloadAccount } from '../../domain/messages/payload-account.ts';
import type { ReceivedMessage } from '../broker.ts';
import type { Allowance, ClaimRequest } from '../ports/messages.ts';

/** A block of more bytes holds a single message. Such a message is claimed for one caller, and nothing beside it. */
const SHARED_BLOCK_BYTES = 64 * 1024;

/** A caller has no memory for what it would get. Nothing was claimed. */
export class MemoryRefused extends Error {}

/** A caller of a group's claim. */
export interface Seat {
  readonly request: ClaimRequest;
  /** What the caller may take: messages, bytes, and bytes of its answer. */
  readonly allowance: Allowance;
  /** The messages that it has got so far. */
  readonly hand: ReceivedMessage[];
  /** How many blocks with messages for it have no outcome yet. */
  blocksLeft: number;
  /** Of a block with messages for it. */
  failure: { readonly error: unknown } | undefined;
  /** Whether any message was planned for it. */
  isPlanned: boolean;
  /** Whether it waits for an answer. */
  isOpen: boolean;
  /** Whether it may take no more, because it got messages of other partitions meanwhile. */
  isServed: boolean;
}

/** Whether the caller still wants messages. */
export function isWanted(request: ClaimRequest): boolean {
  return request.isWanted?.() !== false;
}

/** What is planned for one caller. */
interface Share {
  messages: number;
  /** Of the blocks from which it takes messages: as passed to `take`. */
  bytes: number;
  answerBytes: number;
}

/** A block of which messages are planned. */
interface PlannedBlock {
  readonly messages: number;
  readonly bytes: number;
  readonly answerBytes: number;
  /** How many of them for each caller. */
  readonly shares: Map<Seat, number>;
}

/** A block's messages for a caller. */
export interface Portion {
  readonly seat: Seat;
  readonly count: number;
}

/**
 * What one claim is to take for several callers: one message for each, in the order of asking, before anybody gets a
 * second. Each caller's limits hold for its own part, so what is claimed has a taker.
 */
export class ClaimPlan {
  readonly #seats: readonly Seat[];
  readonly #shares = new Map<Seat, Share>();
  readonly #blocks: PlannedBlock[] = [];
  /** Those that had no room for a block: like a lone receive, they take nothing behind it. */
  readonly #full = new Set<Seat>();
  /** The seat that is next. */
  #next = 0;
  #hasLarge = false;

  /** `seats` = the callers, in the order of asking. */
  constructor(seats: readonly Seat[]) {
    this.#seats = seats;
  }

  /** Whether the claim is for one large message, beside which nothing is claimed. */
  get hasLarge(): boolean {
    return this.#hasLarge;
  }

  /** Plans messages of one block, as `Allowance.take`; returns how many have a taker. */
  take(messages: number, bytes: number, answerBytes: number): number {
    const isLarge = bytes > SHARED_BLOCK_BYTES;
    const fits = this.#blocks.length === 0 || (!isLarge && !this.#hasLarge);
    if (!fits) return 0;
    const shares = new Map<Seat, number>();
    const planned = this.#plan(messages, { bytes, answerBytes, shares });
    if (planned === 0) return 0;
    this.#hasLarge = isLarge;
    this.#blocks.push({ messages: planned, bytes, answerBytes, shares });
    return planned;
  }

  /** Holds each caller's memory: its messages are in as many blocks at most, of which each keeps all. */
  hold(bytes: number, firstNumber: bigint): void {
    for (const [{ request }, { messages }] of this.#shares) {
      const kept = this.#hasLarge ? bytes : Math.min(bytes, messages * SHARED_BLOCK_BYTES);
      holdOrRefuse(request.payloads, kept, firstNumber);
    }
  }

  /**
   * For each block, in the order of `take`, whose its messages are: each caller's are adjacent. Where a caller would
   * then get more bytes than it may, because the blocks differ, each gets of each block what was planned.
   */
  portions(): readonly (readonly Portion[])[] {
    const adjacent = this.#adjacent();
    if (this.#areAllowed(adjacent)) return adjacent;
    return this.#blocks.map(({ shares }) =>
      Array.from(shares, ([seat, count]) => ({ seat, count })),
    );
  }

  /** Whether no caller gets more bytes of these portions than it was planned to. */
  #areAllowed(portions: readonly (readonly Portion[])[]): boolean {
    const taken = new Map<Seat, { bytes: number; answerBytes: number }>();
    for (const [i, { bytes, answerBytes }] of this.#blocks.entries()) {
      for (const { seat } of portions[i] ?? []) {
        const before = taken.get(seat) ?? NOTHING;
        taken.set(seat, {
          bytes: before.bytes + bytes,
          answerBytes: before.answerBytes + answerBytes,
        });
      }
    }
    return [...taken].every(([seat, { bytes, answerBytes }]) => {
      const planned = this.#shares.get(seat) ?? NOTHING;
      return bytes <= planned.bytes && answerBytes <= planned.answerBytes;
    });
  }

  #adjacent(): readonly (readonly Portion[])[] {
    const owners = this.#seats
      .map((seat) => ({ seat, left: this.#plannedFor(seat) }))
      .filter(({ left }) => left > 0);
    return this.#blocks.map(({ messages }) => {
      const portions: Portion[] = [];
      for (let left = messages; left > 0; ) {
        const [owner] = owners;
        if (owner === undefined) break;
        const count = Math.min(left, owner.left);
        portions.push({ seat: owner.seat, count });
        left -= count;
        owner.left -= count;
        if (owner.left === 0) owners.shift();
      }
      return portions;
    });
  }

  /** Gives back what a caller may take elsewhere instead, since it got `got` messages. */
  giveBack(seat: Seat, got: number): void {
    const { messages, bytes, answerBytes } = this.#shares.get(seat) ?? NOTHING;
    seat.allowance.giveBack(messages - got, got === 0 ? bytes : 0, got === 0 ? answerBytes : 0);
  }

  #plannedFor(seat: Seat): number {
    return this.#shares.get(seat)?.messages ?? 0;
  }

  #plan(messages: number, block: Omit<PlannedBlock, 'messages'>): number {
    const { bytes, answerBytes, shares } = block;
    const counts = new Map<Seat, number>();
    const hasRoom = (seat: Seat) =>
      seat.isOpen &&
      !seat.isServed &&
      !this.#full.has(seat) &&
      this.#plannedFor(seat) + (counts.get(seat) ?? 0) < seat.request.maxMessages &&
      isWanted(seat.request);
    for (let i = 0; i < messages; i++) {
      const index = cyclicIndex(this.#seats, this.#next, hasRoom);
      const seat = index === undefined ? undefined : this.#seats[index];
      if (index === undefined || seat === undefined) break;
      counts.set(seat, (counts.get(seat) ?? 0) + 1);
      this.#next = index + 1;
    }
    let planned = 0;
    for (const [seat, count] of counts) {
      const allowed = seat.allowance.take(count, bytes, answerBytes);
      if (allowed < count) {
        this.#full.add(seat);
        seat.isServed ||= seat.request.allowance !== undefined;
      }
      if (allowed === 0) continue;
      const share = this.#shares.get(seat) ?? { ...NOTHING };
      share.messages += allowed;
      share.bytes += bytes;
      share.answerBytes += answerBytes;
      this.#shares.set(seat, share);
      shares.set(seat, (shares.get(seat) ?? 0) + allowed);
      planned += allowed;
    }
    // What some had no room for is offered to the others.
    const isRefused = planned < [...counts.values()].reduce((sum, count) => sum + count, 0);
    return isRefused ? planned + this.#plan(messages - planned, block) : planned;
  }
}

const NOTHING: Share = { messages: 0, bytes: 0, answerBytes: 0 };

function holdOrRefuse(account: PayloadAccount | undefined, bytes: number, first: bigint): void {
  try {
    account?.hold(bytes, first);
  } catch (cause) {
    throw new MemoryRefused('A caller has no memory for its messages.', { cause });
  }
}

/** The index of the first entry from `from` on, and then from the start, that matches; undefined = none does. */
export function cyclicIndex<Entry>(
  entries: readonly Entry[],
  from: number,
  matches: (entry: Entry, index: number) => boolean,
): number | undefined {
  for (let i = 0; i < entries.length; i++) {
    const index = (from + i) % entries.length;
    const entry = entries[index];
    if (entry !== undefined && matches(entry, index)) return index;
  }
  return undefined;
}
