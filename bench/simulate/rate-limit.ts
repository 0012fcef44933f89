const SECOND = 1000;

/** A token bucket that fills at a steady rate up to `burst`. */
export class RateLimit {
  readonly #rate: number;
  readonly #burst: number;
  readonly #now: () => number;
  #left: number;
  #at: number;

  /** `rate` = units a second; `now` = ms. */
  constructor(rate: number, burst: number, now: () => number) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
    this.#left = burst;
    this.#at = now();
  }

  /** Whether anything is left. More may be spent than is left; the debt is filled up first. */
  get hasLeft(): boolean {
    const now = this.#now();
    const gained = ((now - this.#at) / SECOND) * this.#rate;
    this.#left = Math.min(this.#burst, this.#left + gained);
    this.#at = now;
    return this.#left > 0;
  }

  spend(units: number): void {
    this.#left -= units;
  }
}
