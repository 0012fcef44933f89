import type { RandomSource } from './clock.ts';

/** Runs work later. Handed in everywhere, so that a simulation decides what happens when. */
export interface Scheduler {
  /**
   * Milliseconds that only ever go on; not the clock that users may move. They may stand still while the
   * process is frozen.
   */
  now(): number;
  /** Calls `work` once, after so many milliseconds. */
  after(ms: number, work: () => void): Timer;
  /** Calls `work` again and again, each time after so many milliseconds. */
  every(ms: number, work: () => void): Timer;
  /** Calls `work` once, behind what is under way now. */
  soon(work: () => void): void;
}

/** Work that a scheduler is to call. */
export interface Timer {
  /** Stops the calls that have not come yet. */
  cancel(): void;
}

/** Resolves after so many milliseconds. */
export function pause(scheduler: Scheduler, ms: number): Promise<void> {
  return new Promise((resolve) => {
    scheduler.after(ms, resolve);
  });
}

/** A random number from 0 up to, but not including, 1. */
export function fraction(random: RandomSource): number {
  return random.bytes(4).reduce((sum, byte) => (sum + byte) / 256, 0);
}
