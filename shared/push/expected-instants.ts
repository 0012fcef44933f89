import { MINUTE_MS, SECOND_MS } from '../domain/units.ts';
import { PUSH } from './push-limits.ts';

/** Instants, epoch ms, at which messages become available again, in steps that are coarser the later they are. */
export class ExpectedInstants {
  #instants = new Set<number>();

  /** Notes that messages become available at an instant; `now` = the time. */
  add(instant: number, now: number): void {
    const step = stepFor(instant - now);
    // Beyond the bound, the messages are found when those of another instant are.
    if (this.#instants.size < PUSH.expectedMax)
      this.#instants.add(Math.ceil(instant / step) * step);
  }

  /** The earliest instant after `now`; undefined = there is none. Forgets those before it. */
  next(now: number): number | undefined {
    return this.all(now)[0];
  }

  /** All instants after `now`, in order. Forgets those before it. */
  all(now: number): readonly number[] {
    for (const instant of this.#instants) if (instant <= now) this.#instants.delete(instant);
    return [...this.#instants].sort((a, b) => a - b);
  }
}

/** Steps: so there are fewer than `PUSH.expectedMax` of them in the longest delay, 12 hours. */
function stepFor(delayMs: number): number {
  if (delayMs <= 10 * SECOND_MS) return 10;
  return delayMs <= 5 * MINUTE_MS ? SECOND_MS : 10 * SECOND_MS;
}
