import type { RandomSource } from './clock.ts';

/** Runs work later. It is injected everywhere, so that a simulation decides what happens when. */
export interface Scheduler {
  /**
   * Monotonic time, ms. It is independent of the clock that users may move, and may stand still while the
   * process is frozen.
   */
  now(): number;
  /** Calls `work` once, after `ms` milliseconds. */
  after(ms: number, work: () => void): Timer;
  /** Calls `work` every `ms` milliseconds. */
  every(ms: number, work: () => void): Timer;
  /** Calls `work` once, after the current work and the pending events of this turn of the event loop. */
  soon(work: () => void): void;
}

/** A scheduled call, or a series of them. */
export interface Timer {
  /** Cancels the calls that have not happened yet. */
  cancel(): void;
  /** Lets the process end before the call. Absent = it always does. */
  unref?(): void;
}

/** Resolves after `ms` milliseconds. */
export function pause(scheduler: Scheduler, ms: number): Promise<void> {
  return new Promise((resolve) => {
    scheduler.after(ms, resolve);
  });
}

/** A random number from 0 up to, but not including, 1. */
export function randomFraction(random: RandomSource): number {
  return random.bytes(4).reduce((sum, byte) => (sum + byte) / 256, 0);
}
