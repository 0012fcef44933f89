import type { Clock } from './clock.ts';

/** One instant, as both clocks of this process show it. */
export interface Instant {
  /** Monotonic clock, ms. It never goes back, but may stand still while the process is frozen. */
  readonly monotonicMs: number;
  /** Wall clock, epoch ms. It may be set back. */
  readonly wallMs: number;
  /** Ordinal number among all instants of this clock, since two instants may show the same times. */
  readonly order: number;
}

/**
 * Measures the age of cached data. Neither clock is enough: the monotonic clock may stand still while the
 * process is frozen between two requests, and the wall clock may be set. The age is therefore the larger of
 * the two differences. If the wall clock was set back, the age is infinite, so that stale data never looks
 * fresh.
 */
export class AgeClock {
  readonly #wall: Clock;
  readonly #monotonicNow: () => number;
  #noted = 0;

  constructor(wall: Clock, monotonicNow: () => number) {
    this.#wall = wall;
    this.#monotonicNow = monotonicNow;
  }

  /** The current instant. Take it before a read begins whose answer will be cached. */
  now(): Instant {
    return {
      monotonicMs: this.#monotonicNow(),
      wallMs: this.#wall.now(),
      order: ++this.#noted,
    };
  }

  /** The age of an instant, ms; infinite if the wall clock was set back since. */
  since({ monotonicMs, wallMs }: Instant): number {
    const wall = this.#wall.now() - wallMs;
    if (wall < 0) return Number.POSITIVE_INFINITY;
    return Math.max(wall, this.#monotonicNow() - monotonicMs);
  }

  /** The older of two instants; `a` if `b` is absent. */
  older(a: Instant, b: Instant | undefined): Instant {
    return b !== undefined && this.since(b) > this.since(a) ? b : a;
  }
}
