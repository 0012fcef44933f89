import type { Entity } from '../domain/entity.ts';

interface Entry {
  readonly entity: Promise<Entity | undefined>;
  /** Monotonic ms at which the read began. */
  readonly readAt: number;
}

const ENTRIES_MAX = 20_000;

/**
 * Entities as this process read them a short while ago. The time counts from the start of a read, so
 * an entry is never older than it looks: who changes an entity waits that long before answering, and
 * then knows that no process holds the old one any more (docs/decisions/0002).
 */
export class EntityCache {
  readonly #entries = new Map<string, Entry>();
  readonly #maxAgeMs: number;
  readonly #monotonicNow: () => number;

  constructor(maxAgeMs: number, monotonicNow: () => number) {
    this.#maxAgeMs = maxAgeMs;
    this.#monotonicNow = monotonicNow;
  }

  /** The entity under a key; reads it where nothing young enough is known. */
  async get(key: string, read: () => Promise<Entity | undefined>): Promise<Entity | undefined> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#monotonicNow() - known.readAt < this.#maxAgeMs) {
      return await known.entity;
    }
    if (this.#entries.size >= ENTRIES_MAX) this.#entries.clear();
    const entry: Entry = { entity: read(), readAt: this.#monotonicNow() };
    this.#entries.set(key, entry);
    try {
      const entity = await entry.entity;
      // That something is missing is not remembered: it may be created any moment.
      if (entity === undefined) this.#drop(key, entry);
      return entity;
    } catch (error) {
      this.#drop(key, entry);
      throw error;
    }
  }

  #drop(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
