/** The units of one item collection per second. */
const UNITS_A_SECOND = { read: 3000, write: 1000 } as const;
const SECOND = 1000;
/** A collection that no request has used for this time has all its units again, ms. */
const FORGET_MS = 60 * SECOND;

interface Level {
  read: number;
  write: number;
  /** When the levels were computed, epoch ms. */
  at: number;
}

/**
 * The units that item collections have left. They are refilled steadily, up to the units of one second. A
 * request is served while any are left; it may use more, and the next one then waits for a positive level.
 */
export class Throughput {
  readonly #isLimited: boolean;
  readonly #now: () => number;
  #levels = new Map<string, Level>();
  /** Levels that no request has used since the last swap of the two maps. */
  #older = new Map<string, Level>();
  #changedAt: number;

  constructor(isLimited: boolean, now: () => number) {
    this.#isLimited = isLimited;
    this.#now = now;
    this.#changedAt = now();
  }

  /** Whether a collection has units left. */
  hasLeft(kind: 'read' | 'write', table: string, pk: string): boolean {
    return !this.#isLimited || this.#level(table, pk)[kind] > 0;
  }

  /** Takes units of a collection. */
  take(kind: 'read' | 'write', table: string, pk: string, units: number): void {
    if (this.#isLimited) this.#level(table, pk)[kind] -= units;
  }

  #level(table: string, pk: string): Level {
    const now = this.#now();
    this.#swapMaps(now);
    const key = `${table}/${pk}`;
    let level = this.#levels.get(key);
    if (level === undefined) {
      level = this.#older.get(key) ?? { ...UNITS_A_SECOND, at: now };
      this.#levels.set(key, level);
    }
    if (level.at < now) {
      const seconds = (now - level.at) / SECOND;
      for (const kind of ['read', 'write'] as const) {
        const full = UNITS_A_SECOND[kind];
        level[kind] = Math.min(full, level[kind] + seconds * full);
      }
      level.at = now;
    }
    return level;
  }

  /** Swaps the maps once a minute, which drops the levels that no request used during the last minute. */
  #swapMaps(now: number): void {
    if (now - this.#changedAt < FORGET_MS) return;
    this.#changedAt = now;
    this.#older = this.#levels;
    this.#levels = new Map();
  }
}
