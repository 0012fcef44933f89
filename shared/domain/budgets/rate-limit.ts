/** So many a second in the long run, and so many at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  /** Of the burst, when it was last looked at. */
  readonly left: number;
  readonly at: number;
}

/**
 * Bounds how often something is done by each of many: a token bucket for each. Of so many buckets the
 * one that was used least recently is forgotten, which is nothing lost where it is full again.
 */
export class RateLimit {
  readonly #rate: Rate;
  readonly #bucketsMax: number;
  /** The least recently used first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, bucketsMax: number) {
    this.#rate = rate;
    this.#bucketsMax = bucketsMax;
  }

  /** How many buckets are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes `count` from the bucket of `key`; false, with nothing taken, where it is empty. Taking more
   * than there is leaves a debt: what something costs may be known only afterwards. `now` = monotonic ms.
   */
  take(key: string, now: number, count = 1): boolean {
    const left = this.#left(key, now);
    const isThere = left >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { left: isThere ? left - count : left, at: now });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > this.#bucketsMax && oldest !== undefined) this.#buckets.delete(oldest);
    return isThere;
  }

  /** Gives one back that was taken and turned out not to count. */
  giveBack(key: string, now: number): void {
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
 * What addresses are told apart by: of IPv6 the first half, since one customer has all of the second,
 * and could change it with each connection.
 */
export function addressGroup(address: string): string {
  return address.includes(':') ? address.split(':').slice(0, 4).join(':') : address;
}
