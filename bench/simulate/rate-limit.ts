const SECOND = 1000;

/** A bucket that fills at a steady rate up to `burst`. */
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

  /** Whether anything is left. What is spent may exceed what is left; then it comes back first. */
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
