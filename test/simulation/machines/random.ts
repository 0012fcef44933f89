import type { RandomSource } from '../../../shared/domain/clock.ts';

/**
 * Random numbers from a seed: the same seed gives the same numbers on every machine. `fork` returns an
 * independent stream, so that more draws in one place do not change the draws in another.
 */
export class Random implements RandomSource {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    this.#a = hash(seed, 0x9e3779b9);
    this.#b = hash(seed, 0x243f6a88);
    this.#c = hash(seed, 0xb7e15162);
    for (let i = 0; i < WARM_UP; i++) this.#next();
  }

  /** An independent stream, the same for the same seed and name. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** In [0, 1). */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number in [0, count). */
  below(count: number): number {
    return Math.floor(this.fraction() * count);
  }

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('There is nothing to pick from.');
    return value;
  }

  /** One of the names, with probabilities in proportion to the weights. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name {
    const entries = Object.entries<number | undefined>(weights);
    let left = this.fraction() * entries.reduce((sum, [, weight = 0]) => sum + weight, 0);
    for (const [name, weight = 0] of entries) {
      left -= weight;
      if (left < 0) return name as Name;
    }
    throw new Error('There is nothing to draw from.');
  }

  bytes(count: number): Uint8Array {
    const words = Uint32Array.from({ length: Math.ceil(count / 4) }, () => this.#next());
    return new Uint8Array(words.buffer, 0, count);
  }

  /** The generator: SFC32, "small fast counter". */
  #next(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

const WARM_UP = 12;

function hash(text: string, start: number): number {
  let value = start;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x5bd1e995);
    value ^= value >>> 15;
  }
  return value >>> 0;
}
