import { PUSH } from './push-limits.ts';

/** Instants, epoch ms, at which messages become available again. Keeps the earliest. */
export class Expected {
  #instants: number[] = [];

  /** Notes that messages become available at an instant. */
  add(instant: number): void {
    if (this.#instants.includes(instant)) return;
    this.#instants.push(instant);
    this.#instants.sort((a, b) => a - b);
    // The latest of too many is found when another one is due.
    this.#instants.length = Math.min(this.#instants.length, PUSH.expectedMax);
  }

  /** The earliest instant after `now`; undefined = there is none. Forgets those before it. */
  next(now: number): number | undefined {
    this.#instants = this.#instants.filter((instant) => instant > now);
    return this.#instants[0];
  }
}
