import type { Clock } from '../../shared/domain/clock.ts';

/** Every test starts at this instant. */
export const START = Date.UTC(2026, 0, 1);

interface Step {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly ms?: number;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = START;
  readonly #listeners: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  advance({ days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0 }: Step): void {
    this.#now += (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
    for (const listener of this.#listeners) listener();
  }

  onMove(listener: () => void): void {
    this.#listeners.push(listener);
  }
}
