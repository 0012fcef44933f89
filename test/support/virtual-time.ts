import { LEASE_MS, leaseEndMs } from '../../shared/app/leases.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/** How long a change waits for the leases of a deployment, ms. */
export const LEASE_END_MS = leaseEndMs(LEASE_MS.deployed);

/**
 * Time that a test moves ahead without waiting. Otherwise only timers move it, to where they were due: what a process
 * remembers grows no older because the machine is slow, so tests count the same units on every machine.
 */
export class VirtualTime implements Scheduler {
  readonly soon = realScheduler.soon;
  #now = 0;

  now(): number {
    return this.#now;
  }

  /** A timer; but the time until the leases of all processes have ended passes at once. */
  after(ms: number, work: () => void): Timer {
    const dueAt = this.#now + ms;
    const ring = () => {
      this.#now = Math.max(this.#now, dueAt);
      work();
    };
    if (ms !== LEASE_END_MS) return realScheduler.after(ms, ring);
    queueMicrotask(ring);
    return { cancel: () => {} };
  }

  every(ms: number, work: () => void): Timer {
    let rangAt = this.#now;
    return realScheduler.every(ms, () => {
      this.#now = Math.max(this.#now, rangAt + ms);
      rangAt = this.#now;
      work();
    });
  }

  /** Moves the clock ahead. */
  skip(ms: number): void {
    this.#now += ms;
  }
}
