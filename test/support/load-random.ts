import { createHash, randomBytes } from 'node:crypto';

/** The seed of this run: `DYNABUS_SEED`, which repeats a run, or else a new one. Test titles contain it. */
export function seedOfRun(): string {
  return process.env['DYNABUS_SEED'] || randomBytes(4).toString('hex');
}

const RANGE = 2 ** 32;

/** Random choices; the same seed repeats them. */
export class LoadRandom {
  #state: number;

  constructor(seed: string) {
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  }

  /** A number from 0 to 1, excluding 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / RANGE;
  }

  /** An integer from 0 to `count`, excluding `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** An integer from `least` to `most`, including both. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in this share of cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }

  /** The indices of a list of this length, in random order. */
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
