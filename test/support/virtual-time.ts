import { LEASE_MS, leaseEndMs } from '../../shared/app/leases.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/** How long a change waits for the leases of a deployment, ms. */
export const LEASE_END_MS = leaseEndMs(LEASE_MS.deployed);

/**
 * A monotonic clock that a test moves without waiting. Otherwise only timers move it, to their due times. So
 * caches do not expire because the machine is slow, and tests count the same units on every machine.
 */
export class VirtualTime implements Scheduler {
  readonly soon = realScheduler.soon;
  #now = 0;

  now(): number {
    return this.#now;
  }

  /** Starts a timer; but a wait until the leases of all processes have ended is over at once. */
  after(ms: number, work: () => void): Timer {
    const dueAt = this.#now + ms;
    const fire = () => {
      this.#now = Math.max(this.#now, dueAt);
      work();
    };
    if (ms !== LEASE_END_MS) return realScheduler.after(ms, fire);
    queueMicrotask(fire);
    return { cancel: () => {} };
  }

  every(ms: number, work: () => void): Timer {
    let firedAt = this.#now;
    return realScheduler.every(ms, () => {
      this.#now = Math.max(this.#now, firedAt + ms);
      firedAt = this.#now;
      work();
    });
  }

  /** Moves the clock ahead. */
  skip(ms: number): void {
    this.#now += ms;
  }
}

/** Timers take this many times as long as they should. */
const SLOWER = 20;

/** Virtual time whose short pauses are so long that a slow machine does as much in them as a fast one. */
export class SlowTime extends VirtualTime {
  override after(ms: number, work: () => void): Timer {
    return super.after(ms === LEASE_END_MS ? ms : ms * SLOWER, work);
  }
}
