import type { AgeClock, Instant } from '../domain/age.ts';
import type { Clock } from '../domain/clock.ts';
import { present } from '../domain/present.ts';
import type { Scheduler, Timer } from '../domain/scheduler.ts';
import type {
  ConsumerFault,
  ConsumerReference,
  ConsumerState,
  ConsumerStates,
  Pause,
  RateLeft,
  Trouble,
} from './ports.ts';
import { PUSH } from './push-limits.ts';
import { isOwned } from './stored-instants.ts';

/** The dependencies of `ConsumerLease`. */
export interface LeaseDependencies {
  readonly states: ConsumerStates;
  readonly clock: Clock;
  readonly ages: AgeClock;
  readonly scheduler: Scheduler;
  readonly reportFault: (error: unknown) => void;
}

/** The limits of a consumer that hold for all processes together. */
export interface CallLimits {
  readonly maxConcurrency: number;
  readonly timeoutMs: number;
}

/**
 * The right of one worker to call the target of a consumer. It says how many calls the worker may have under way, so
 * that a worker that takes over from one that has crashed knows how many are left to itself.
 */
export class ConsumerLease {
  /** Calls under way. */
  running = 0;
  /** What is wrong, as it is stored with the next write. */
  #trouble: Trouble = {};
  readonly owner: string;
  readonly #dependencies: LeaseDependencies;
  readonly #of: ConsumerReference;
  #formerCalls: ConsumerState['formerCalls'];
  /** The calls that the stored lease allows. */
  #allowed: number;
  #timeoutMs: number;
  /** The end of the stored lease, epoch ms, as far as is known. It grows with each write. */
  #until: number;
  /** Whether the last renewal had no answer, so that the stored lease may have its end. */
  #isUncertain = false;
  #renewedAt: Instant;
  #isLost = false;
  #last: Promise<unknown> = Promise.resolve();
  #timer: Timer | undefined;

  private constructor(
    dependencies: LeaseDependencies,
    of: ConsumerReference,
    owner: string,
    taken: {
      readonly at: Instant;
      readonly until: number;
      readonly allowed: number;
      readonly formerCalls: ConsumerState['formerCalls'];
      readonly timeoutMs: number;
      readonly fault: ConsumerFault | undefined;
    },
  ) {
    this.#dependencies = dependencies;
    this.#of = of;
    this.owner = owner;
    this.#renewedAt = taken.at;
    this.#until = taken.until;
    this.#allowed = taken.allowed;
    this.#formerCalls = taken.formerCalls;
    this.#timeoutMs = taken.timeoutMs;
    if (taken.fault !== undefined) this.#trouble = { fault: taken.fault };
  }

  /**
   * Takes the lease of a consumer whose state was just read, unless it is owned. Undefined = it is. One write unit.
   * Throws ServiceBusy, ServiceTimeout.
   */
  static async take(
    dependencies: LeaseDependencies,
    of: ConsumerReference,
    owner: string,
    seen: ConsumerState,
    limits: CallLimits,
  ): Promise<ConsumerLease | undefined> {
    const { states, clock, ages, scheduler } = dependencies;
    const at = ages.now();
    const now = clock.now();
    if (isOwned(seen, now)) return undefined;
    const formerCalls = formerCallsAfter(seen, now);
    const allowed = Math.min(limits.maxConcurrency, CALLS_FIRST);
    const { timeoutMs } = limits;
    const until = now + PUSH.leaseMs;
    if (!(await states.take(of, { owner, until, calls: allowed, timeoutMs }, seen, formerCalls)))
      return undefined;
    const how = { at, until, allowed, formerCalls, timeoutMs, fault: seen.fault };
    const taken = new ConsumerLease(dependencies, of, owner, how);
    taken.#timer = scheduler.every(PUSH.renewMs, () => taken.#renewInBackground());
    return taken;
  }

  /** Whether another worker may own the consumer by now. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** How many more calls may begin now under `maxConcurrency`, while former owners may still have some under way. */
  free(maxConcurrency: number): number {
    const now = this.#dependencies.clock.now();
    const others = Object.values(this.#formerCalls).filter(({ until }) => until > now);
    return maxConcurrency - this.running - others.reduce((sum, { calls }) => sum + calls, 0);
  }

  /** When the earliest calls of former owners end at the latest, ms from now; Infinity = there are none. */
  get formerCallsEndMs(): number {
    const now = this.#dependencies.clock.now();
    const ends = Object.values(this.#formerCalls).flatMap(({ until }) =>
      until > now ? [until] : [],
    );
    return Math.min(Number.POSITIVE_INFINITY, ...ends) - now;
  }

  /**
   * Makes sure that the calls that are counted as running may run: that the lease still holds, and that the stored one
   * allows so many. False = it is lost. Call it right before a call. Throws ServiceBusy, ServiceTimeout.
   */
  async allowCalls({ maxConcurrency, timeoutMs }: CallLimits): Promise<boolean> {
    this.#timeoutMs = Math.max(timeoutMs, this.#timeoutMs);
    while (!this.#isLost && (this.running > this.#allowed || !this.#isFresh)) {
      // Twice as many each time, so that the writes are few.
      await this.#renew(Math.min(maxConcurrency, 2 * this.#allowed));
    }
    return !this.#isLost;
  }

  get #isFresh(): boolean {
    const age = this.#dependencies.ages.since(this.#renewedAt);
    return age < PUSH.leaseMs - PUSH.leaseMarginMs;
  }

  /** What is wrong with the consumer. */
  get trouble(): Trouble {
    return this.#trouble;
  }

  /** Notes what is wrong with the consumer. Others see at once that a fault or a pause begins, and the rest later. */
  noteTrouble(trouble: Trouble): void {
    const { fault, pause } = this.#trouble;
    this.#trouble = trouble;
    const isFault = fault === undefined && trouble.fault !== undefined;
    const isPause = this.pause !== undefined && this.pause.until !== pause?.until;
    if (isFault || isPause) this.#renewInBackground();
  }

  /** The pause of the consumer; undefined = it is over, or there was none. */
  get pause(): Pause | undefined {
    const { pause } = this.#trouble;
    return pause && pause.until > this.#dependencies.clock.now() ? pause : undefined;
  }

  get #troubleNow(): Trouble {
    return present({ fault: this.#trouble.fault, pause: this.pause });
  }

  #renewInBackground(): void {
    this.#renew(CALLS_FIRST).catch((error: unknown) => this.#dependencies.reportFault(error));
  }

  /** Renews the lease for at least so many calls, one renewal after the other. */
  #renew(calls: number): Promise<void> {
    return this.#inTurn(() => this.#renewNow(calls));
  }

  async #renewNow(calls: number): Promise<void> {
    if (this.#isLost) return;
    const { states, clock, ages } = this.#dependencies;
    const at = ages.now();
    const allowed = Math.max(calls, this.running);
    // Before the write, so that no call begins that the stored lease does not allow.
    this.#allowed = Math.min(this.#allowed, allowed);
    this.#until = Math.max(this.#until + 1, clock.now() + PUSH.leaseMs);
    this.#isUncertain = true;
    const { owner } = this;
    const lease = { owner, until: this.#until, calls: allowed, timeoutMs: this.#timeoutMs };
    const state = await states.renew(this.#of, lease, this.#troubleNow);
    this.#isUncertain = false;
    if (state === undefined) {
      this.#isLost = true;
      return;
    }
    this.#renewedAt = at;
    this.#allowed = allowed;
    this.#formerCalls = state.formerCalls;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /**
   * Ends the lease; see `ConsumerStates.release`. After `woken` it goes on. Calls under way are counted until
   * `callsEnded`. Throws ServiceBusy, ServiceTimeout.
   */
  async release(rate: RateLeft): Promise<'released' | 'woken' | 'lost'> {
    const ended = await this.#inTurn(async () => {
      // The release has the end of the stored lease as its condition.
      if (this.#isUncertain) await this.#renewNow(CALLS_FIRST);
      if (this.#isLost) return 'lost';
      const { states, clock } = this.#dependencies;
      const lease = { owner: this.owner, until: this.#until };
      const until = clock.now() + this.#timeoutMs;
      const how = await states.release(this.#of, lease, {
        ...this.#troubleNow,
        rate,
        ...(this.running === 0 ? {} : { formerCalls: { calls: this.running, until } }),
      });
      if (how === 'woken') this.#until++;
      return how;
    });
    return ended === 'woken' ? ended : this.#end(ended);
  }

  #end(how: 'released' | 'lost'): 'released' | 'lost' {
    this.#isLost = true;
    this.#timer?.cancel();
    return how;
  }

  /** Notes that the calls that were under way at the release have ended. */
  async callsEnded(): Promise<void> {
    await this.#dependencies.states.endFormerCalls(this.#of, this.owner);
  }

  /** Renews no more, and leaves the lease to end by itself. */
  abandon(): void {
    this.#end('lost');
  }
}

/** Calls that a lease allows at first. */
const CALLS_FIRST = 4;

/** The calls of former owners that may still be under way, when a lease that was not released is taken over. */
function formerCallsAfter(
  { lease, formerCalls }: ConsumerState,
  now: number,
): ConsumerState['formerCalls'] {
  const left = Object.entries(formerCalls).filter(([, { until }]) => until > now);
  const last =
    lease === undefined
      ? []
      : [
          [
            lease.owner,
            { calls: lease.calls, until: Math.min(lease.until, now) + lease.timeoutMs },
          ] as const,
        ];
  return Object.fromEntries([...left, ...last].filter(([, { until }]) => until > now));
}
