interface Entry<Value> {
  readonly value: Promise<Value | undefined>;
  /** Monotonic ms at which the read began. */
  readonly readAt: number;
}

const ENTRIES_MAX = 20_000;

/**
 * What this process read a short while ago. The time counts from the start of a read, so
 * an entry is never older than it looks: who changes something waits that long before answering, and
 * then knows that no process holds what was before (docs/decisions/0002).
 */
export class TimedCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #maxAgeMs: number;
  readonly #monotonicNow: () => number;

  constructor(maxAgeMs: number, monotonicNow: () => number) {
    this.#maxAgeMs = maxAgeMs;
    this.#monotonicNow = monotonicNow;
  }

  /** The value under a key; reads it where nothing young enough is known. */
  async get(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#monotonicNow() - known.readAt < this.#maxAgeMs) {
      return await known.value;
    }
    if (this.#entries.size >= ENTRIES_MAX) this.#entries.clear();
    const entry: Entry<Value> = { value: read(), readAt: this.#monotonicNow() };
    this.#entries.set(key, entry);
    try {
      const value = await entry.value;
      // That something is missing is not remembered: it may be created any moment.
      if (value === undefined) this.#drop(key, entry);
      return value;
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
