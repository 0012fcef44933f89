import type { Scheduler, Timer } from '../../../shared/domain/scheduler.ts';

/** The pause after an empty poll, ms: it doubles from `first` to `most`, unless something happens in the queue. */
const PAUSE_MS = { first: 50, most: 4_500 } as const;

/**
 * When the waiting receivers of one queue look for messages again: soon after something happened, and ever more seldom
 * while nothing does, since each look is a request that costs money. All of them look at the same time, so that one
 * request serves them all.
 */
export class PollPace {
  readonly #scheduler: Scheduler;
  #pauseMs: number = PAUSE_MS.first;
  /** Monotonic ms. */
  #nextAt = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<() => void>();
  #timer: Timer | undefined;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** A look found nothing. */
  foundNothing(): void {
    const now = this.#scheduler.now();
    // Those who looked at the same time found the same.
    if (now < this.#nextAt) return;
    this.#nextAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(PAUSE_MS.most, 2 * this.#pauseMs);
  }

  /** There are messages, or were a moment ago: looks now and soon. */
  active(): void {
    this.#pauseMs = PAUSE_MS.first;
    this.lookNow();
  }

  /** Looks once now, since that costs no request of its own. */
  lookNow(): void {
    this.#nextAt = Number.NEGATIVE_INFINITY;
    this.#wakeAll();
  }

  /** Resolves when it is time for the next look, after `ms` at the latest, or once `signal` is aborted. */
  async wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return;
    const now = this.#scheduler.now();
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        own?.cancel();
        if (this.#waiting.size === 0) this.#timer?.cancel();
        resolve();
      };
      const own = ms < this.#nextAt - now ? this.#scheduler.after(ms, wake) : undefined;
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
      if (own === undefined) this.#wakeAt(this.#nextAt - now);
    });
  }

  #wakeAt(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#scheduler.after(Math.max(0, ms), () => this.#wakeAll());
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
