import { createHash, randomBytes } from 'node:crypto';

/** The seed of this run: `DYNABUS_SEED` to repeat one, a new one otherwise. Put it into test names. */
export function seedOfRun(): string {
  return process.env['DYNABUS_SEED'] || randomBytes(4).toString('hex');
}

const RANGE = 2 ** 32;

/** Random choices, the same ones for the same seed. */
export class LoadRandom {
  #state: number;

  constructor(seed: string) {
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  }

  /** From 0 up to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / RANGE;
  }

  /** A whole number from 0 up to `count`, without `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in that share of cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }

  /** Each place of a list of that length once, in random order. */
  order(length: number): readonly number[] {
    const places = Array.from({ length }, (_, place) => place);
    for (let last = length - 1; last > 0; last--) {
      const other = this.below(last + 1);
      const moved = places[last];
      places[last] = places[other] ?? last;
      places[other] = moved ?? other;
    }
    return places;
  }
}
