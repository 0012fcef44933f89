import type { Clock } from '../../../shared/domain/clock.ts';
import type { Scheduler, Timer } from '../../../shared/domain/scheduler.ts';
import type { Endpoint } from './network.ts';
import { repeat } from './repeat.ts';
import type { Timeline } from './timeline.ts';

/**
 * The machine of one process: its clocks and timers, and whether it is frozen. Events of a frozen process
 * are delivered when it thaws; events of a crashed process never are.
 */
export class Machine implements Scheduler, Endpoint {
  /** The wall clock, which may differ from the true time. */
  readonly clock: Clock;
  /** The wall clock minus the true time, ms. */
  aheadMs: number;
  readonly #timeline: Timeline;
  /** Whether the monotonic clock stops while the process is frozen. */
  readonly #standsStill: boolean;
  readonly #startedAt: number;
  #frozenSince: number | undefined;
  #frozenMs = 0;
  #isOver = false;
  readonly #backlog: (() => void)[] = [];

  constructor(timeline: Timeline, { aheadMs, standsStill }: MachineSettings) {
    this.#timeline = timeline;
    this.aheadMs = aheadMs;
    this.#standsStill = standsStill;
    this.#startedAt = timeline.now;
    this.clock = { now: () => Math.floor(timeline.now + this.aheadMs) };
  }

  get isFrozen(): boolean {
    return this.#frozenSince !== undefined;
  }

  /** Ends the process: no event that is under way in it is delivered. */
  crash(): void {
    this.#isOver = true;
    this.#backlog.length = 0;
  }

  freeze(): void {
    this.#frozenSince ??= this.#timeline.now;
  }

  thaw(): void {
    if (this.#frozenSince === undefined) return;
    this.#frozenMs += this.#timeline.now - this.#frozenSince;
    this.#frozenSince = undefined;
    for (const work of this.#backlog.splice(0)) this.deliver(this.#timeline.now, work);
  }

  deliver(instant: number, work: () => void): void {
    this.#timeline.at(instant, () => {
      if (this.#isOver) return;
      if (this.isFrozen) this.#backlog.push(work);
      else work();
    });
  }

  now(): number {
    const frozen = this.#frozenSince === undefined ? 0 : this.#timeline.now - this.#frozenSince;
    const standing = this.#standsStill ? this.#frozenMs + frozen : 0;
    return this.#timeline.now - this.#startedAt - standing;
  }

  after(ms: number, work: () => void): Timer {
    let isCancelled = false;
    // Whole milliseconds: an epoch time has no room for fractions.
    const dueAt = this.now() + Math.ceil(Math.max(0, ms));
    const wait = () =>
      this.deliver(this.#timeline.now + (dueAt - this.now()), () => {
        if (isCancelled) return;
        // The monotonic clock may have stopped meanwhile.
        if (this.now() < dueAt) wait();
        else work();
      });
    wait();
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }

  every(ms: number, work: () => void): Timer {
    return repeat((...timer) => this.after(...timer), ms, work);
  }

  soon(work: () => void): void {
    this.deliver(this.#timeline.now, work);
  }
}

export interface MachineSettings {
  readonly aheadMs: number;
  readonly standsStill: boolean;
}
