import { FILTER_LIMITS } from './filter-limits.ts';

/**
 * A least-recently-used cache of compiled texts. It limits the characters of all texts together, since the
 * memory of the compiled closures grows with them.
 */
export class SourceCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #capacity: number;
  #characters = 0;

  /** `capacity` = characters of all texts together. */
  constructor(capacity: number = FILTER_LIMITS.cachedCharacters) {
    this.#capacity = capacity;
  }

  /** Characters of all cached texts. */
  get characters(): number {
    return this.#characters;
  }

  /**
   * The compiled value of a text; `make` creates it if it is not cached. An error of `make` is not cached.
   */
  get(text: string, make: () => T): T {
    const kept = this.#entries.get(text);
    if (kept !== undefined) {
      // The order of use matters only once the cache fills up.
      if (this.#characters > this.#capacity / 2) this.#touch(text, kept);
      return kept;
    }
    const made = make();
    this.#entries.set(text, made);
    this.#characters += text.length;
    this.#evict();
    return made;
  }

  #touch(text: string, value: T): void {
    this.#entries.delete(text);
    this.#entries.set(text, value);
  }

  #evict(): void {
    for (const text of this.#entries.keys()) {
      if (this.#characters <= this.#capacity) return;
      this.#entries.delete(text);
      this.#characters -= text.length;
    }
  }
}
