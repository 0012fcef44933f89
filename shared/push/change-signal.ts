import type { Scheduler } from '../domain/scheduler.ts';
import { MINUTE_MS } from '../domain/units.ts';

/** Lets several tasks wait until something has changed. */
export class ChangeSignal {
  readonly #scheduler: Scheduler;
  readonly #waiting = new Set<() => void>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Lets all that wait go on. */
  notify(): void {
    for (const resume of [...this.#waiting]) resume();
  }

  /** Resolves at the next change, or after `ms`, at most a minute. */
  async next(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const resume = () => {
        timer.cancel();
        this.#waiting.delete(resume);
        resolve();
      };
      const timer = this.#scheduler.after(Math.min(ms, MINUTE_MS), resume);
      this.#waiting.add(resume);
    });
  }
}
