import type { AgeClock, Instant } from '../../domain/age.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';

/** A value, and the instant since which it may have changed without this process knowing. */
export interface Leased<Value> {
  readonly value: Value | undefined;
  readonly since: Instant;
}

interface Entry<Value> {
  readonly value: Promise<Value | undefined>;
  readonly since: Instant;
}

const ENTRIES_MAX = 20_000;

/**
 * Keeps values that this process read, each for the length of a lease that counts from the start of the read. A
 * process that changes a value waits for that length before it answers; then no process uses the old value
 * (docs/decisions/0002).
 */
export class LeaseCache<Value> {
  readonly #entries = new BoundedMap<string, Entry<Value>>(ENTRIES_MAX);
  readonly #leaseMs: number;
  readonly #ages: AgeClock;

  /** `leaseMs` = how long a value may be used after its read began. */
  constructor(leaseMs: number, ages: AgeClock) {
    this.#leaseMs = leaseMs;
    this.#ages = ages;
  }

  /** The value under a key; calls `read` if the cache has none, or only one whose lease has ended. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    return (await this.lease(key, read)).value;
  }

  /**
   * The same, with the instant at which the lease began. `basis` = the earlier read whose result says where to read
   * this value: the lease then begins with that read, so that one wait outlasts a change of either.
   */
  async lease(
    key: string,
    read: () => Promise<Value | undefined>,
    basis?: Instant,
  ): Promise<Leased<Value>> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#ages.since(known.since) < this.#leaseMs) {
      return { value: await known.value, since: known.since };
    }
    const since = this.#ages.older(this.#ages.now(), basis);
    const entry: Entry<Value> = { value: read(), since };
    this.#entries.set(key, entry);
    try {
      const value = await entry.value;
      // A missing value is not kept, since it may be created at any moment.
      if (value === undefined) this.#drop(key, entry);
      return { value, since };
    } catch (error) {
      this.#drop(key, entry);
      throw error;
    }
  }

  #drop(key: string, entry: Entry<Value>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  /** Drops the value under a key. */
  forget(key: string): void {
    this.#entries.delete(key);
  }
}
