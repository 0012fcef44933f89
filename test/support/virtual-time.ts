import { OUTLAST_MS } from '../../shared/app/compose-dependencies.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/**
 * Time that a test moves ahead without waiting. It goes on by itself as well, so that real timers and
 * this clock agree while nobody moves it.
 */
export class VirtualTime implements Scheduler {
  readonly every = realScheduler.every;
  readonly soon = realScheduler.soon;
  #skippedMs = 0;

  now(): number {
    return realScheduler.now() + this.#skippedMs;
  }

  /** A timer; but the time in which the caches of all processes run out passes at once. */
  after(ms: number, work: () => void): Timer {
    if (ms !== OUTLAST_MS) return realScheduler.after(ms, work);
    this.skip(ms);
    queueMicrotask(work);
    return { cancel: () => {} };
  }

  /** Moves the clock ahead. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }
}
