import type { AgeClock, Instant } from '../../domain/age.ts';

/** A value, and since when it may have changed without this process knowing. */
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
 * What this process read a short while ago. The time counts from the start of a read, so an entry is
 * never older than it looks: a process that changes something waits that long before it answers, and
 * then knows that no process holds what was before (docs/decisions/0002).
 */
export class TimedCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  #maxAgeMs: number;
  readonly #ages: AgeClock;

  constructor(maxAgeMs: number, ages: AgeClock) {
    this.#maxAgeMs = maxAgeMs;
    this.#ages = ages;
  }

  /** From now on values are kept no longer than this, those included that are known. */
  keepAtMost(maxAgeMs: number): void {
    this.#maxAgeMs = Math.min(this.#maxAgeMs, maxAgeMs);
  }

  /** The value under a key; reads it where nothing young enough is known. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    return (await this.lease(key, read)).value;
  }

  /**
   * The same with its age. `basis` = the read that told where to read this: what was found through an
   * older read is as old as that one, so that a change of either is outlasted by one wait.
   */
  async lease(
    key: string,
    read: () => Promise<Value | undefined>,
    basis?: Instant,
  ): Promise<Leased<Value>> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#ages.since(known.since) < this.#maxAgeMs) {
      return { value: await known.value, since: known.since };
    }
    if (this.#entries.size >= ENTRIES_MAX) this.#entries.clear();
    const since = this.#ages.older(this.#ages.now(), basis);
    const entry: Entry<Value> = { value: read(), since };
    this.#entries.set(key, entry);
    try {
      const value = await entry.value;
      // That something is missing is not remembered: it may be created any moment.
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

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
