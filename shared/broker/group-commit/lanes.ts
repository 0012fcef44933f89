import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';

/** The longest wait for more calls, ms, and only where the last group had several callers. */
const GATHER_MS_MAX = 10;
/** The first wait for calls beyond those that are expected, and the longest, ms: it doubles while it is worthwhile. */
const EXTRA_MS = { first: 1, most: 8 };
/** After this long, ms, a group that is under way no longer holds up the next one. */
const STALLED_MS = 100;
/** The most groups of one lane under way at once, all but the last one stalled. */
const GROUPS_AT_ONCE_MAX = 16;
/** The most lanes whose last group is remembered. A forgotten lane carries out its calls all the same. */
const LANES_MAX = 10_000;

/** What a group may hold: callers, and messages and bytes of all of them together. A single call may exceed it. */
export interface GroupLimits {
  readonly calls: number;
  readonly messages: number;
  readonly bytes: number;
}

/** What a call adds to its group. */
export interface CallSize {
  readonly messages: number;
  readonly bytes: number;
}

/** A call that waits for its group. Exactly one of `resolve` and `reject` must be called, by `carryOut`. */
export interface Call<Request, Outcome> {
  readonly request: Request;
  readonly size: CallSize;
  /** Calls with the same object are carried out in order, also past a group that stalls; absent = in any order. */
  readonly orderedBy?: object | undefined;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** How the calls of a lane are grouped and carried out. */
export interface Grouping<Request, Outcome> {
  readonly limits: GroupLimits;
  /** Whether two requests of one lane may share a group; default: they may. */
  readonly mayShare?: (first: Request, other: Request) => boolean;
  /**
   * Carries out a group. Returns the calls that it has not answered: they come first in the next group. Does not throw.
   */
  readonly carryOut: (
    calls: readonly Call<Request, Outcome>[],
  ) => Promise<readonly Call<Request, Outcome>[]>;
}

/**
 * Group commit: calls with the same key that arrive while a group of them is under way become the next group. A lone
 * call starts at once. Where the last group had several callers, the next one waits a moment until as many have called
 * again. So clients that each handle one message at a time share writes, and a lone client waits for nobody.
 */
export class Lanes<Request, Outcome> {
  readonly #scheduler: Scheduler;
  readonly #grouping: Grouping<Request, Outcome>;
  readonly #lanes = new BoundedMap<string, Lane<Request, Outcome>>(LANES_MAX);

  constructor(scheduler: Scheduler, grouping: Grouping<Request, Outcome>) {
    this.#scheduler = scheduler;
    this.#grouping = grouping;
  }

  /** Adds a call to the next group of a lane; returns its own outcome. */
  join(
    key: string,
    request: Request,
    size: CallSize,
    orderedBy?: object | undefined,
  ): Promise<Outcome> {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(this.#scheduler, this.#grouping);
      this.#lanes.set(key, lane);
    }
    const joined = lane;
    return new Promise((resolve, reject) => {
      joined.add({ request, size, orderedBy, resolve, reject });
    });
  }
}

/** A group under way. */
interface Group<Request, Outcome> {
  readonly calls: readonly Call<Request, Outcome>[];
  isStalled: boolean;
}

/** The calls with one key. */
class Lane<Request, Outcome> {
  readonly #scheduler: Scheduler;
  readonly #grouping: Grouping<Request, Outcome>;
  #waiting: Call<Request, Outcome>[] = [];
  readonly #underWay = new Set<Group<Request, Outcome>>();
  /** When the first of the waiting calls arrived, monotonic ms. */
  #arrivedAt = 0;
  /** How many callers the last group had, and when it ended, monotonic ms. */
  #lastCallers = 1;
  #endedAt = Number.NEGATIVE_INFINITY;
  /** How long to wait for calls beyond the expected ones, ms, and how many calls waited when that began. */
  #extraMs = 0;
  #beforeExtra: number | undefined;
  #timer: Timer | undefined;
  #isStarting = false;

  constructor(scheduler: Scheduler, grouping: Grouping<Request, Outcome>) {
    this.#scheduler = scheduler;
    this.#grouping = grouping;
  }

  add(call: Call<Request, Outcome>): void {
    if (this.#waiting.length === 0) this.#arrivedAt = this.#scheduler.now();
    this.#waiting.push(call);
    this.#schedule();
  }

  /** Schedules the start of the next group, unless one is under way. */
  #schedule(): void {
    if (this.#waiting.length === 0 || this.#isStarting || this.#isBlocked) return;
    this.#timer?.cancel();
    const waitMs = this.#startsAt() - this.#scheduler.now();
    if (waitMs > 0) {
      // Calls that have reached this process by then, but not this lane, still come in time.
      this.#timer = this.#scheduler.after(waitMs, () =>
        this.#startBy((work) => this.#scheduler.soon(work)),
      );
      return;
    }
    // Deferred, so that calls that were made together share a group.
    this.#startBy(queueMicrotask);
  }

  #startBy(defer: (work: () => void) => void): void {
    this.#isStarting = true;
    defer(() => this.#start());
  }

  get #isBlocked(): boolean {
    const groups = [...this.#underWay];
    return groups.length >= GROUPS_AT_ONCE_MAX || groups.some(({ isStalled }) => !isStalled);
  }

  /** When the next group starts if no other call arrives, monotonic ms. */
  #startsAt(): number {
    const hadCompany = this.#lastCallers > 1;
    const readyAt = Math.max(this.#arrivedAt, this.#endedAt);
    if (!hadCompany || readyAt - this.#endedAt > GATHER_MS_MAX) return readyAt;
    const latest = this.#arrivedAt + GATHER_MS_MAX;
    if (this.#waiting.length < this.#lastCallers) return latest;
    this.#beforeExtra ??= this.#waiting.length;
    return Math.min(latest, readyAt + this.#extraMs);
  }

  #start(): void {
    this.#isStarting = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isBlocked) return;
    // A wait that brought nobody is not repeated.
    if (this.#waiting.length === this.#beforeExtra) this.#extraMs = 0;
    this.#beforeExtra = undefined;
    const calls = this.#take();
    if (calls.length === 0) return;
    const group = { calls, isStalled: false };
    this.#underWay.add(group);
    const stall = this.#scheduler.after(STALLED_MS, () => {
      group.isStalled = true;
      this.#schedule();
    });
    void this.#grouping.carryOut(calls).then((unanswered) => {
      stall.cancel();
      this.#end(group, unanswered);
    });
  }

  /** Takes the next group from the front of the waiting calls. */
  #take(): readonly Call<Request, Outcome>[] {
    const { limits, mayShare } = this.#grouping;
    const group: Call<Request, Outcome>[] = [];
    const left: Call<Request, Outcome>[] = [];
    const held = new Set([...this.#underWay].flatMap(({ calls }) => orders(calls)));
    const total = { messages: 0, bytes: 0 };
    let isFull = false;
    for (const call of this.#waiting) {
      const isHeld = call.orderedBy !== undefined && held.has(call.orderedBy);
      const [first] = group;
      const messages = total.messages + call.size.messages;
      const bytes = total.bytes + call.size.bytes;
      isFull ||=
        first !== undefined &&
        (group.length >= limits.calls ||
          messages > limits.messages ||
          bytes > limits.bytes ||
          mayShare?.(first.request, call.request) === false);
      if (isFull || isHeld) {
        left.push(call);
        continue;
      }
      group.push(call);
      total.messages = messages;
      total.bytes = bytes;
    }
    this.#waiting = left;
    return group;
  }

  #end(group: Group<Request, Outcome>, unanswered: readonly Call<Request, Outcome>[]): void {
    this.#underWay.delete(group);
    this.#lastCallers = group.calls.length;
    this.#endedAt = this.#scheduler.now();
    const cameMeanwhile = this.#waiting.length > 0;
    if (this.#lastCallers > 1 && cameMeanwhile) {
      this.#extraMs = Math.min(EXTRA_MS.most, Math.max(EXTRA_MS.first, 2 * this.#extraMs));
    }
    // These have waited already.
    if (unanswered.length > 0) this.#arrivedAt = Number.NEGATIVE_INFINITY;
    this.#waiting.unshift(...unanswered);
    this.#schedule();
  }
}

function orders(calls: readonly Call<unknown, never>[]): readonly object[] {
  return calls.flatMap(({ orderedBy }) => (orderedBy === undefined ? [] : [orderedBy]));
}
