import type { Clock } from '../shared/domain/clock.ts';

/**
 * The latest instant the clock can be moved to: the start of the last year that the formats of dates
 * can name. The year that is left lets the clock go on running, and locks and schedules end after it.
 */
const INSTANT_MAX = Date.UTC(9999, 0, 1);

/**
 * The time of the machine, moved ahead at will, so that users can try what happens in 14 days. It
 * goes on running, and only ever forward: a bus whose time goes back has no meaning for a lock. It is the
 * clock of messages and entities; tokens expire by the time of the machine, as their clients have it.
 */
export class MovableClock implements Clock {
  #aheadMs = 0;
  readonly #listeners = new Set<() => void>();

  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /**
   * Moves ahead. Throws RangeError for a step back, for a fraction of a millisecond, which stored
   * instants cannot hold, and for an instant after the start of the year 9999.
   */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('The clock only goes forward.');
    if (!(this.now() + ms <= INSTANT_MAX)) {
      throw new RangeError('The clock goes no further than 9999-01-01T00:00:00Z.');
    }
    if (!Number.isInteger(ms)) throw new RangeError('The clock moves by whole milliseconds.');
    this.#aheadMs += ms;
    for (const listener of this.#listeners) listener();
  }

  /** Moves ahead to an instant, epoch ms. Throws RangeError as `advance` does. */
  set(instant: number): void {
    this.advance(instant - this.now());
  }

  /** Calls back after every move. Returns what ends that. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
