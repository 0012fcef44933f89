import type { Clock } from '../shared/domain/clock.ts';

/**
 * The latest instant that the clock can be moved to, epoch ms: the start of the last year that the date formats
 * can express. The year that remains lets the clock run on, and locks and schedules end, after the last move.
 */
const INSTANT_MAX = Date.UTC(9999, 0, 1);

/**
 * A clock that runs ahead of the machine's clock by an offset, so that users can try what happens in 14 days.
 * It keeps running and moves forward only, because locks have no meaning if time goes back. Messages and
 * entities use this clock. Tokens expire by the machine's clock, with which clients make them.
 */
export class MovableClock implements Clock {
  #aheadMs = 0;
  readonly #listeners = new Set<() => void>();

  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** An instant of this clock by the machine's clock; both are epoch ms. */
  byMachine(instant: number): number {
    return instant - this.#aheadMs;
  }

  /**
   * Moves the clock ahead. Throws RangeError for a negative number, for a fraction of a millisecond, which
   * stored instants cannot hold, and beyond the start of the year 9999.
   */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('The clock moves forward only.');
    if (!(this.now() + ms <= INSTANT_MAX)) {
      throw new RangeError('The clock cannot be moved beyond 9999-01-01T00:00:00Z.');
    }
    if (!Number.isInteger(ms)) throw new RangeError('The clock moves by whole milliseconds.');
    this.#aheadMs += ms;
    for (const listener of this.#listeners) listener();
  }

  /** Moves the clock ahead to an instant, epoch ms. Throws RangeError like `advance`. */
  set(instant: number): void {
    this.advance(instant - this.now());
  }

  /** Calls a listener after every move. Returns a function that removes the listener. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
