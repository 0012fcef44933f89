import { BoundedMap } from '../bounded-map.ts';

/** The rate of a token bucket. */
export interface Rate {
  /** The average rate. */
  readonly perSecond: number;
  /** The capacity of the bucket: how many may happen at once. */
  readonly burst: number;
}

interface Bucket {
  /** Tokens in the bucket at `at` (monotonic ms). */
  readonly left: number;
  readonly at: number;
}

/**
 * Limits how often something happens for each of many keys, with one token bucket for each key. It keeps at
 * most `bucketsMax` buckets and drops the least recently used ones; nothing is lost if those are full again.
 */
export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets: BoundedMap<string, Bucket>;

  constructor(rate: Rate, bucketsMax: number) {
    this.#rate = rate;
    this.#buckets = new BoundedMap(bucketsMax);
  }

  /** The number of buckets. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes `count` tokens from the bucket of `key`. Returns false, and takes nothing, if the bucket is empty.
   * Taking more than it holds leaves a debt, since the cost may be known only afterwards. `now` = monotonic
   * ms.
   */
  take(key: string, now: number, count = 1): boolean {
    const left = this.#left(key, now);
    const isThere = left >= 1;
    this.#buckets.set(key, { left: isThere ? left - count : left, at: now });
    return isThere;
  }

  /** Returns one token that was taken for something that turned out not to count. `now` = monotonic ms. */
  refund(key: string, now: number): void {
    const left = Math.min(this.#rate.burst, this.#left(key, now) + 1);
    this.#buckets.set(key, { left, at: now });
  }

  #left(key: string, now: number): number {
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * perSecond);
  }
}

/**
 * The key of a client address for rate limits. For IPv6 it is the first half (the /64 prefix), since one
 * customer owns the second half and could change it with each connection.
 */
export function addressGroup(address: string): string {
  return address.includes(':') ? address.split(':').slice(0, 4).join(':') : address;
}
