import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { GATHER_MS_MAX, Pace, type Patience } from './pace.ts';

/** After this long, ms, a group that is under way no longer holds up the next one. */
const STALLED_MS = 100;
/** The most groups of one lane under way at once, all but the last one stalled. */
const GROUPS_AT_ONCE_MAX = 16;

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

/** A call that waits for its group. `carryOut` answers it by `resolve` or `reject`; a second answer changes nothing. */
export interface Call<Request, Outcome> {
  readonly request: Request;
  readonly size: CallSize;
  /** Calls with the same object are carried out in order, also past a group that stalls; absent = in any order. */
  readonly orderedBy?: object | undefined;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** The lane of a group that is carried out. */
export interface LaneOfGroup<Request, Outcome> {
  /** Puts calls of the group in front of those that wait for the next one. */
  again(calls: readonly Call<Request, Outcome>[]): void;
  /** Calls `work` once if the group takes so long that the next one no longer waits for it. */
  onStall(work: () => void): void;
}

/** How the calls of a lane are grouped and carried out. */
export interface Grouping<Request, Outcome> extends Patience {
  readonly limits: GroupLimits;
  /** Whether a lone call waits for others until the end of this turn of the event loop. */
  readonly gathersInTurn?: true;
  /** Whether two requests of one lane may share a group; default: they may. */
  readonly mayShare?: (first: Request, other: Request) => boolean;
  /** Carries out a group: answers each call, as soon as it can, or asks again for it. Does not throw. */
  readonly carryOut: (
    calls: readonly Call<Request, Outcome>[],
    lane: LaneOfGroup<Request, Outcome>,
  ) => Promise<void>;
}

/**
 * Group commit: calls with the same key that arrive while a group of them is under way become the next group. So
 * clients that each handle one message at a time share writes. A lone call starts at once; only where the last group
 * had several callers, the next one waits a moment until as many have called again.
 */
export class Lanes<Request, Outcome> {
  readonly #scheduler: Scheduler;
  readonly #grouping: Grouping<Request, Outcome>;
  /** Those with calls, and for a moment those whose last group had several callers. */
  readonly #lanes = new Map<string, Lane<Request, Outcome>>();

  constructor(scheduler: Scheduler, grouping: Grouping<Request, Outcome>) {
    this.#scheduler = scheduler;
    this.#grouping = grouping;
  }

  /** How many lanes have calls, or had some a moment ago. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Adds a call to the next group of a lane; returns its own outcome. */
  join(
    key: string,
    request: Request,
    size: CallSize,
    orderedBy?: object | undefined,
  ): Promise<Outcome> {
    const lane = this.#lanes.get(key) ?? this.#open(key);
    return new Promise((resolve, reject) => {
      lane.add({ request, size, orderedBy, resolve, reject });
    });
  }

  #open(key: string): Lane<Request, Outcome> {
    const lane: Lane<Request, Outcome> = new Lane(this.#scheduler, this.#grouping, () => {
      // Another lane may have taken its place.
      if (this.#lanes.get(key) === lane) this.#lanes.delete(key);
    });
    this.#lanes.set(key, lane);
    return lane;
  }
}

/** A group under way. */
interface Group<Request, Outcome> {
  readonly calls: readonly Call<Request, Outcome>[];
  /** How many of them wait for the next group. */
  again: number;
  isStalled: boolean;
  /** Monotonic ms. */
  readonly beganAt: number;
}

/** The calls with one key. */
class Lane<Request, Outcome> {
  readonly #scheduler: Scheduler;
  readonly #grouping: Grouping<Request, Outcome>;
  #waiting: Call<Request, Outcome>[] = [];
  readonly #underWay = new Set<Group<Request, Outcome>>();
  readonly #pace: Pace;
  #timer: Timer | undefined;
  #isStarting = false;
  readonly #onIdle: () => void;

  /** `onIdle` = nothing is left to remember. */
  constructor(scheduler: Scheduler, grouping: Grouping<Request, Outcome>, onIdle: () => void) {
    this.#scheduler = scheduler;
    this.#grouping = grouping;
    this.#pace = new Pace(grouping);
    this.#onIdle = onIdle;
  }

  add(call: Call<Request, Outcome>): void {
    if (this.#waiting.length === 0) this.#pace.arrived(this.#scheduler.now());
    this.#waiting.push(call);
    this.#schedule();
  }

  /** Schedules the start of the next group, unless one is under way. */
  #schedule(): void {
    if (this.#waiting.length === 0 || this.#isStarting || this.#isBlocked) return;
    this.#timer?.cancel();
    const waitMs = this.#isFull
      ? 0
      : this.#pace.startsAt(this.#waiting.length) - this.#scheduler.now();
    const soon = (work: () => void) => this.#scheduler.soon(work);
    if (waitMs > 0) {
      // Calls that have reached this process by then, but not this lane, still come in time.
      this.#timer = this.#scheduler.after(waitMs, () => this.#startBy(soon));
      return;
    }
    // Deferred, so that calls that were made together share a group; those in order join one after the other.
    const areOrdered = this.#waiting.some(({ orderedBy }) => orderedBy !== undefined);
    this.#startBy(areOrdered || this.#grouping.gathersInTurn ? soon : queueMicrotask);
  }

  /** Whether as much waits as one group takes. */
  get #isFull(): boolean {
    const { calls, messages, bytes } = this.#grouping.limits;
    const total = { messages: 0, bytes: 0 };
    for (const { size } of this.#waiting) {
      total.messages += size.messages;
      total.bytes += size.bytes;
    }
    return this.#waiting.length >= calls || total.messages >= messages || total.bytes >= bytes;
  }

  #startBy(defer: (work: () => void) => void): void {
    this.#isStarting = true;
    defer(() => this.#start());
  }

  get #isBlocked(): boolean {
    const groups = [...this.#underWay];
    return groups.length >= GROUPS_AT_ONCE_MAX || groups.some(({ isStalled }) => !isStalled);
  }

  #start(): void {
    this.#isStarting = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isBlocked) return;
    this.#pace.started(this.#waiting.length);
    const calls = this.#take();
    if (calls.length === 0) return;
    const group = { calls, again: 0, isStalled: false, beganAt: this.#scheduler.now() };
    this.#underWay.add(group);
    let onStall = () => {};
    const stall = this.#scheduler.after(STALLED_MS, () => {
      group.isStalled = true;
      onStall();
      this.#schedule();
    });
    const lane: LaneOfGroup<Request, Outcome> = {
      again: (unanswered) => this.#again(group, unanswered),
      onStall: (work) => {
        onStall = work;
      },
    };
    void this.#grouping.carryOut(calls, lane).then(() => {
      stall.cancel();
      this.#end(group);
    });
  }

  #again(group: Group<Request, Outcome>, unanswered: readonly Call<Request, Outcome>[]): void {
    if (unanswered.length === 0) return;
    group.again += unanswered.length;
    // These have waited already.
    this.#pace.arrived(Number.NEGATIVE_INFINITY);
    this.#waiting.unshift(...unanswered);
    this.#schedule();
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

  #end(group: Group<Request, Outcome>): void {
    this.#underWay.delete(group);
    const callers = group.calls.length;
    const arrived = Math.max(0, this.#waiting.length - group.again);
    this.#pace.ended({ callers, arrived, beganAt: group.beganAt }, this.#scheduler.now());
    this.#schedule();
    if (this.#pace.hadCompany) this.#scheduler.after(GATHER_MS_MAX, () => this.#endIfIdle());
    else this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#waiting.length + this.#underWay.size === 0) this.#onIdle();
  }
}

function orders(calls: readonly Call<unknown, never>[]): readonly object[] {
  return calls.flatMap(({ orderedBy }) => (orderedBy === undefined ? [] : [orderedBy]));
}
