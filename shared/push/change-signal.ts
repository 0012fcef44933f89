import type { Scheduler } from '../domain/scheduler.ts';
import { MINUTE_MS } from '../domain/units.ts';

/** Lets several tasks wait until something has changed. */
export class Changes {
  readonly #scheduler: Scheduler;
  #waiting: (() => void)[] = [];

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Lets all that wait look again. */
  notify(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  /** Resolves at the next change, or after `ms`, at most a minute. */
  async next(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#scheduler.after(Math.min(ms, MINUTE_MS), () => this.notify());
      this.#waiting.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
