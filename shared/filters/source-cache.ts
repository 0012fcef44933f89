import { FILTER_LIMITS } from './filter-limits.ts';

/**
 * Keeps what was compiled, by its text. What is bounded is the characters of all texts together,
 * since that is what the closures' memory grows with; the longest unused goes first.
 */
export class SourceCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #capacity: number;
  #characters = 0;

  constructor(capacity: number = FILTER_LIMITS.cachedCharacters) {
    this.#capacity = capacity;
  }

  /** Characters held now. */
  get characters(): number {
    return this.#characters;
  }

  /** What belongs to a text; made on the first call. An error of `make` is passed on and not kept. */
  get(text: string, make: () => T): T {
    const kept = this.#entries.get(text);
    if (kept !== undefined) {
      // Only a cache that fills up has to know what was used last.
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
