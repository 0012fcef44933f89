import { LIMITS } from '../../domain/limits.ts';
import type { PayloadAccount } from '../../domain/messages/payload-account.ts';
import type { ReceivedMessage } from '../broker.ts';
import type { Allowance, ClaimRequest } from '../ports/messages.ts';
import { SharedAllowance } from '../receive/shared-allowance.ts';

/** A block of more bytes holds a single message. Such a message is claimed for one caller, and nothing beside it. */
const SHARED_BLOCK_BYTES = 64 * 1024;

/** The decoded size of the messages of one claim. */
const BYTES_MAX = 4 * LIMITS.receiveBytes;

/** A caller has no memory for what it would get. Nothing was claimed. */
export class MemoryRefused extends Error {}

/** A caller's part of a group's claim. */
interface Seat {
  readonly request: ClaimRequest;
  /** What the caller may take: messages, bytes, and bytes of its answer. */
  readonly allowance: Allowance;
  /** How many of the messages to claim are for this caller. */
  planned: number;
  /** Of the blocks from which it takes messages: as passed to `take`. */
  bytes: number;
  answerBytes: number;
  /** Whether the caller may take no more, because it got messages of other partitions meanwhile. */
  isServed: boolean;
}

/**
 * Plans a claim for several callers and deals out its messages: in the order of asking, one for each caller before
 * anybody gets a second. Each caller's limits hold for its own part, so what is claimed has a taker. It is the shared
 * claim's allowance, which the storage asks before it claims, block by block.
 */
export class Deal {
  readonly #seats: readonly Seat[];
  /** The seat that is next. */
  #next = 0;
  /** Of all blocks in the present plan. */
  #bytes = 0;
  #hasLarge = false;
  /** Whether the plan's claim has ended; a further one begins with an empty plan. */
  #hasEnded = false;
  /** Of a block that was claimed beside others. */
  #failure: unknown;

  /** `requests` = those of the callers, in the order of asking; at least one. */
  constructor(requests: readonly ClaimRequest[]) {
    this.#seats = requests.map((request) => ({
      request,
      allowance: request.allowance ?? ownAllowance(request),
      planned: 0,
      bytes: 0,
      answerBytes: 0,
      isServed: false,
    }));
  }

  /** The claim for all callers. */
  get request(): ClaimRequest {
    const requests = this.#seats.map(({ request }) => request);
    const [first] = requests;
    if (first === undefined) throw new Error('Invariant violated: a deal has a caller');
    const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
    const wanted = sum(requests.map(({ maxMessages }) => maxMessages));
    const bytes = sum(requests.map(({ maxBytes }) => maxBytes));
    return {
      ...first,
      maxMessages: Math.min(wanted, LIMITS.receiveMessages),
      maxBytes: Math.min(bytes, BYTES_MAX),
      allowance: {
        take: (...block) => this.#take(...block),
        giveBack: () => {
          this.#hasEnded = true;
        },
      },
      isForSeveral: true,
      onFailure: (error) => {
        this.#failure ??= error;
      },
      payloads: { hold: (bytes, number) => this.#hold(bytes, number) },
      // The group makes one claim, for which one turn is enough.
      waitForTurn: async () => {
        await requests.find(isWanted)?.waitForTurn?.();
      },
      isWanted: () => requests.some(isWanted),
    };
  }

  /** Whether a caller, by its index, has got all it may take of several partitions. */
  isServed(index: number): boolean {
    return this.#seats[index]?.isServed === true;
  }

  /**
   * The failure of a removal that was planned for a caller, by its index, who got nothing: it may have taken effect, so
   * the caller must hear that the outcome is unknown. A lock that nobody has ends by time.
   */
  failureOf(index: number): unknown {
    const seat = this.#seats[index];
    const isRemoval = seat?.request.mode === 'receiveAndDelete' && seat.planned > 0;
    return isRemoval ? this.#failure : undefined;
  }

  /** Whether the claim was for one large message, beside which nothing is claimed. */
  get hasLarge(): boolean {
    return this.#hasLarge;
  }

  /** Gives back what was planned, because the claim failed. */
  giveBackAll(): void {
    this.#clear();
  }

  /**
   * Deals out claimed messages, lowest sequence numbers first: `hands` has a list for each caller, of adjacent
   * messages, which share blocks and so settle in few writes. A locked message is not dealt to a caller that gave up;
   * `surplus` = those for which nobody is left. A removed one would be lost, so its caller gets it all the same.
   */
  dealOut(messages: readonly ReceivedMessage[]): {
    readonly hands: readonly (readonly ReceivedMessage[])[];
    readonly surplus: readonly ReceivedMessage[];
  } {
    const counts = this.#seats.map(() => 0);
    const isTaker = ({ request, planned }: Seat, i: number) =>
      (counts[i] ?? 0) < planned && (request.mode === 'receiveAndDelete' || isWanted(request));
    let next = 0;
    for (let dealt = 0; dealt < messages.length; dealt++) {
      const taker = cyclicIndex(this.#seats, next, isTaker);
      if (taker === undefined) break;
      counts[taker] = (counts[taker] ?? 0) + 1;
      next = taker + 1;
    }
    let from = 0;
    const hands = this.#seats.map(({ planned, bytes, answerBytes, allowance }, i) => {
      const count = counts[i] ?? 0;
      const hand = messages.slice(from, from + count);
      from += count;
      allowance.giveBack(planned - count, count === 0 ? bytes : 0, count === 0 ? answerBytes : 0);
      return hand;
    });
    return { hands, surplus: messages.slice(from) };
  }

  #take(messages: number, bytes: number, answerBytes: number): number {
    if (this.#hasEnded) this.#clear();
    const isLarge = bytes > SHARED_BLOCK_BYTES;
    const isFirst = this.#bytes === 0;
    const fits = isFirst || (!isLarge && !this.#hasLarge);
    const planned = fits ? this.#plan(messages, bytes, answerBytes) : 0;
    if (planned === 0) return 0;
    this.#hasLarge = isLarge;
    this.#bytes += bytes;
    return planned;
  }

  /** Plans messages of one block; returns how many have a taker. */
  #plan(messages: number, bytes: number, answerBytes: number): number {
    const shares = new Map<Seat, number>();
    const hasRoom = (seat: Seat) =>
      !seat.isServed &&
      seat.planned + (shares.get(seat) ?? 0) < seat.request.maxMessages &&
      isWanted(seat.request);
    for (let i = 0; i < messages; i++) {
      const index = cyclicIndex(this.#seats, this.#next, hasRoom);
      const seat = index === undefined ? undefined : this.#seats[index];
      if (index === undefined || seat === undefined) break;
      shares.set(seat, (shares.get(seat) ?? 0) + 1);
      this.#next = index + 1;
    }
    let planned = 0;
    let isOfferedAgain = false;
    for (const [seat, share] of shares) {
      const allowed = seat.allowance.take(share, bytes, answerBytes);
      if (allowed < share && seat.request.allowance !== undefined) {
        seat.isServed = true;
        isOfferedAgain = true;
      }
      if (allowed === 0) continue;
      seat.planned += allowed;
      seat.bytes += bytes;
      seat.answerBytes += answerBytes;
      planned += allowed;
    }
    return isOfferedAgain && planned < messages
      ? planned + this.#plan(messages - planned, bytes, answerBytes)
      : planned;
  }

  /** Holds each caller's memory: its messages are in as many blocks at most, of which each keeps all. */
  #hold(bytes: number, firstNumber: bigint): void {
    for (const { request, planned } of this.#seats) {
      const kept = this.#hasLarge ? bytes : Math.min(bytes, planned * SHARED_BLOCK_BYTES);
      if (planned > 0) holdOrRefuse(request.payloads, kept, firstNumber);
    }
  }

  /** Forgets the plan of a claim that got nothing, because other processes were faster. */
  #clear(): void {
    for (const seat of this.#seats) {
      seat.allowance.giveBack(seat.planned, seat.bytes, seat.answerBytes);
      seat.planned = 0;
      seat.bytes = 0;
      seat.answerBytes = 0;
    }
    this.#next = 0;
    this.#bytes = 0;
    this.#hasLarge = false;
    this.#hasEnded = false;
  }
}

function ownAllowance({ maxMessages, maxBytes, answer }: ClaimRequest): Allowance {
  return new SharedAllowance(maxMessages, maxBytes, answer?.bytes ?? Number.POSITIVE_INFINITY);
}

function isWanted(request: ClaimRequest): boolean {
  return request.isWanted?.() !== false;
}

function holdOrRefuse(account: PayloadAccount | undefined, bytes: number, first: bigint): void {
  try {
    account?.hold(bytes, first);
  } catch (cause) {
    throw new MemoryRefused('A caller has no memory for its messages.', { cause });
  }
}

/** The index of the first entry from `from` on, and then from the start, that matches; undefined = none does. */
function cyclicIndex<Entry>(
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
