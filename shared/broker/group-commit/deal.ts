import { assert } from '../../domain/assert.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { isUnknownOutcome, othersWereFaster } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import { bySequenceNumber } from '../../domain/messages/message.ts';
import type { Result } from '../../domain/result-of.ts';
import type { ReceivedMessage } from '../broker.ts';
import type { ClaimRequest } from '../ports/messages.ts';
import { SharedAllowance } from '../receive/shared-allowance.ts';
import { ClaimPlan, cyclicIndex, isWanted, type Portion, type Seat } from './claim-plan.ts';
import type { Call } from './lanes.ts';

/** The decoded size of the messages of one claim. */
const BYTES_MAX = 4 * LIMITS.receiveBytes;

/** A claim of one log, by one caller. */
export interface LogClaim {
  readonly log: Log;
  readonly request: ClaimRequest;
  /** How often it got nothing although messages were planned for it: their writes failed, or others were faster. */
  readonly missed: { failed: number; lost: number };
}

/** So often a caller asks again after its writes failed, and after others were faster; then it hears of that. */
const MISSED_MAX = { failed: 3, lost: 10 };

/** A call of one caller. */
export type ClaimCall = Call<LogClaim, readonly ReceivedMessage[]>;

/** What is left over of a deal. */
interface Leftovers {
  /** Hears of callers that got nothing, though others got some: they must ask again. */
  unserved(calls: readonly ClaimCall[]): void;
  /** Hears of locked messages whose callers gave up. */
  surplus(messages: readonly ReceivedMessage[]): void;
}

/**
 * Deals out the messages of one claim among several callers, as planned. Each caller is answered when the blocks that
 * hold its messages are claimed, whatever becomes of the others.
 */
export class Deal {
  readonly #leftovers: Leftovers;
  readonly #calls: ReadonlyMap<Seat, ClaimCall>;
  readonly #seats: readonly Seat[];
  #plan: ClaimPlan;
  /** Whether the plan's claim has ended; a further one begins with an empty plan. */
  #hasEnded = false;
  /** Whose the messages of each block are; known when the first block is about to be claimed. */
  #portions: readonly (readonly Portion[])[] | undefined;
  /** Whether anybody got a message. */
  #hasDealt = false;
  #isStalled = false;

  /** `calls` = those of the callers, in the order of asking; at least one. */
  constructor(calls: readonly ClaimCall[], leftovers: Leftovers) {
    this.#leftovers = leftovers;
    this.#calls = new Map(calls.map((call) => [seatFor(call.request.request), call]));
    this.#seats = [...this.#calls.keys()];
    this.#plan = new ClaimPlan(this.#seats);
  }

  /** The claim for all callers. */
  get request(): ClaimRequest {
    const requests = this.#seats.map(({ request }) => request);
    const [first] = requests;
    assert(first !== undefined, 'a deal has a caller');
    const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
    const wanted = sum(requests.map(({ maxMessages }) => maxMessages));
    const bytes = sum(requests.map(({ maxBytes }) => maxBytes));
    const firstWaiting = () =>
      this.#seats.find(({ isOpen, request }) => isOpen && isWanted(request));
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
      group: {
        wanted: (index) => this.#wanted(index),
        onBlock: (...outcome) => this.#onBlock(...outcome),
      },
      payloads: { hold: (bytes, number) => this.#plan.hold(bytes, number) },
      // The group makes one claim, for which one turn is enough.
      waitForTurn: async () => {
        await firstWaiting()?.request.waitForTurn?.();
      },
      isWanted: () => firstWaiting() !== undefined,
    };
  }

  /** Whether the claim was for one large message, beside which nothing is claimed. */
  get hasLarge(): boolean {
    return this.#plan.hasLarge;
  }

  /** The claim has ended, so that no further block has an outcome. */
  end(): void {
    for (const seat of this.#seats) seat.blocksLeft = 0;
    if (this.#hasDealt) this.#answer();
    else for (const [, call] of this.#close()) call.resolve([]);
  }

  /** The claim takes long: from now on, callers that wait for none of its blocks ask again. */
  stall(): void {
    this.#isStalled = true;
    if (this.#portions !== undefined) this.#answer();
  }

  /** The claim has failed. If that is the failure of a block, only those with such a block hear of it, else all. */
  fail(error: unknown): void {
    const isOfBlock = this.#seats.some(({ failure }) => failure?.error === error);
    const failed = this.#close(
      ({ failure, hand }) => hand.length === 0 && (!isOfBlock || failure !== undefined),
    );
    for (const [{ failure }, call] of failed) call.reject(failure?.error ?? error);
    for (const seat of this.#seats) seat.blocksLeft = 0;
    this.#answer();
  }

  /** Gives back what was planned, because nothing was claimed. Returns the calls that are not answered. */
  leave(): readonly ClaimCall[] {
    return this.#close().map(([, call]) => call);
  }

  #take(messages: number, bytes: number, answerBytes: number): number {
    if (this.#hasEnded) this.#planAgain();
    return this.#plan.take(messages, bytes, answerBytes);
  }

  /** Forgets the plan of a claim that got nothing, because other processes were faster. */
  #planAgain(): void {
    for (const seat of this.#seats) {
      if (seat.isOpen) this.#plan.giveBack(seat, 0);
      seat.blocksLeft = 0;
    }
    this.#plan = new ClaimPlan(this.#seats);
    this.#portions = undefined;
    this.#hasEnded = false;
  }

  #onBlock(index: number, outcome: Result<readonly ReceivedMessage[]>): void {
    const portions = this.#portionsOf(index);
    for (const { seat } of portions) seat.blocksLeft--;
    if ('error' in outcome)
      for (const { seat } of portions) seat.failure = graver(seat.failure, outcome);
    else if (outcome.value.length > 0) this.#dealOut(portions, outcome.value);
    if (this.#hasDealt || this.#isStalled) this.#answer();
  }

  /** How many messages of a block still have a caller. */
  #wanted(index: number): number {
    return this.#portionsOf(index).reduce(
      (sum, { seat, count }) => sum + (isWanted(seat.request) ? count : 0),
      0,
    );
  }

  #portionsOf(index: number): readonly Portion[] {
    if (this.#portions === undefined) {
      this.#portions = this.#plan.portions();
      for (const { seat } of this.#portions.flat()) {
        seat.blocksLeft++;
        seat.isPlanned = true;
      }
      if (this.#isStalled) this.#answer();
    }
    return this.#portions[index] ?? [];
  }

  /**
   * Deals out the messages of one block: one for each of its callers before anybody gets a second, adjacent ones to
   * each, which settle in few writes. A locked message is not dealt to a caller that gave up. A removed one that
   * nobody else wants would be lost, so its caller gets it all the same.
   */
  #dealOut(portions: readonly Portion[], messages: readonly ReceivedMessage[]): void {
    this.#hasDealt = true;
    const counts = portions.map(() => 0);
    const hasRoom = ({ count }: Portion, i: number) => (counts[i] ?? 0) < count;
    const isTaker = (portion: Portion, i: number) =>
      hasRoom(portion, i) && isWanted(portion.seat.request);
    const isRemoved = portions.some(({ seat }) => seat.request.mode === 'receiveAndDelete');
    let next = 0;
    for (let dealt = 0; dealt < messages.length; dealt++) {
      const wanting = cyclicIndex(portions, next, isTaker);
      const taker = isRemoved ? (wanting ?? cyclicIndex(portions, next, hasRoom)) : wanting;
      if (taker === undefined) break;
      counts[taker] = (counts[taker] ?? 0) + 1;
      next = taker + 1;
    }
    let from = 0;
    for (const [i, { seat }] of portions.entries()) {
      const count = counts[i] ?? 0;
      seat.hand.push(...messages.slice(from, from + count));
      from += count;
    }
    if (from < messages.length) this.#leftovers.surplus(messages.slice(from));
  }

  /** Answers the callers whose blocks all have an outcome. */
  #answer(): void {
    const unserved: ClaimCall[] = [];
    const complete = this.#close(({ blocksLeft }) => blocksLeft === 0);
    for (const [seat, call] of complete) {
      const { hand, failure, isServed, isPlanned } = seat;
      const { missed } = call.request;
      if (hand.length > 0) call.resolve(hand.sort(bySequenceNumber));
      else if (failure !== undefined && isFinal(seat, missed)) call.reject(failure.error);
      else if (isServed) call.resolve([]);
      else if (isPlanned && ++missed.lost >= MISSED_MAX.lost) call.reject(othersWereFaster());
      else unserved.push(call);
    }
    if (unserved.length > 0) this.#leftovers.unserved(unserved);
  }

  /** Closes open seats, and gives back what their callers may take elsewhere. */
  #close(isReady: (seat: Seat) => boolean = () => true): readonly (readonly [Seat, ClaimCall])[] {
    const closed = [...this.#calls].filter(([seat]) => seat.isOpen && isReady(seat));
    for (const [seat] of closed) {
      seat.isOpen = false;
      this.#plan.giveBack(seat, seat.hand.length);
    }
    return closed;
  }
}

/** Whether a caller hears of its failure: a removal may have taken effect; a lock that nobody has ends by time. */
function isFinal({ request }: Seat, missed: LogClaim['missed']): boolean {
  return request.mode === 'receiveAndDelete' || ++missed.failed >= MISSED_MAX.failed;
}

/** Of two failures the one to tell: an unknown outcome, since a refusal says that nothing was done. */
function graver(known: Failure | undefined, further: Failure): Failure {
  return known === undefined || isUnknownOutcome(further.error) ? further : known;
}

type Failure = NonNullable<Seat['failure']>;

function seatFor(request: ClaimRequest): Seat {
  const { maxMessages, maxBytes, answer } = request;
  const answerBytes = answer?.bytes ?? Number.POSITIVE_INFINITY;
  return {
    request,
    allowance: request.allowance ?? new SharedAllowance(maxMessages, maxBytes, answerBytes),
    hand: [],
    blocksLeft: 0,
    failure: undefined,
    isPlanned: false,
    isOpen: true,
    isServed: false,
  };
}
