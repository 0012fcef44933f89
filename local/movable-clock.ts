import type { Clock } from '../shared/domain/clock.ts';

/** The latest instant that a date can name. */
const INSTANT_MAX = 8_640_000_000_000_000;

/**
 * The time of the machine, moved ahead at will, so that users can try what happens in 14 days. It
 * goes on running, and only ever forward: a bus whose time goes back has no meaning for a lock.
 */
export class MovableClock implements Clock {
  #aheadMs = 0;
  readonly #listeners = new Set<() => void>();

  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Moves ahead. Throws RangeError for a step back, or one past the end of time. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('The clock only goes forward.');
    if (!(this.now() + ms <= INSTANT_MAX)) throw new RangeError('There is no such time.');
    this.#aheadMs += ms;
    for (const listener of this.#listeners) listener();
  }

  /** Moves ahead to an instant, epoch ms. Throws RangeError where that has passed. */
  set(instant: number): void {
    this.advance(instant - this.now());
  }

  /** Calls back after every move. Returns what ends that. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
