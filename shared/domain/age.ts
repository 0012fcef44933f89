import type { Clock } from './clock.ts';

/** An instant, as both clocks of this process showed it. */
export interface Instant {
  /** Milliseconds that only ever go on, but may stand still while the process is frozen. */
  readonly monotonicMs: number;
  /** Epoch ms, which may be set back. */
  readonly wallMs: number;
  /** Its place among all instants that were noted: clocks may show the same twice. */
  readonly order: number;
}

/**
 * Tells how old a memory is. A process may be frozen between two requests, and its monotonic clock may
 * stand still meanwhile; a wall clock may be set. So the age of a memory is the larger of what the two
 * clocks say, and a wall clock that was set back makes every memory too old, never young.
 */
export class AgeClock {
  readonly #wall: Clock;
  readonly #monotonicNow: () => number;
  #noted = 0;

  constructor(wall: Clock, monotonicNow: () => number) {
    this.#wall = wall;
    this.#monotonicNow = monotonicNow;
  }

  /** This instant. To be noted before a read begins whose answer is to be remembered. */
  now(): Instant {
    return {
      monotonicMs: this.#monotonicNow(),
      wallMs: this.#wall.now(),
      order: ++this.#noted,
    };
  }

  /** Milliseconds since an instant; infinite where the wall clock was set back since. */
  since({ monotonicMs, wallMs }: Instant): number {
    const wall = this.#wall.now() - wallMs;
    if (wall < 0) return Number.POSITIVE_INFINITY;
    return Math.max(wall, this.#monotonicNow() - monotonicMs);
  }

  /** The earlier of two instants by age; where one is unknown, the other. */
  older(a: Instant, b: Instant | undefined): Instant {
    return b !== undefined && this.since(b) > this.since(a) ? b : a;
  }
}
