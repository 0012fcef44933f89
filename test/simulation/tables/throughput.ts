/** What one item collection gives in a second. */
const UNITS_A_SECOND = { read: 3000, write: 1000 } as const;
const SECOND = 1000;
/** A collection that no request has used for so long has all its units again. */
const FORGET_MS = 60 * SECOND;

interface Level {
  read: number;
  write: number;
  /** Epoch ms for which the levels hold. */
  at: number;
}

/**
 * The units that item collections have left. Units come back steadily, up to what one second gives. A request
 * is served while any are left; if it takes more than are left, the next one waits until that is paid back.
 */
export class Throughput {
  readonly #isLimited: boolean;
  readonly #now: () => number;
  #levels = new Map<string, Level>();
  /** Levels that no request has used since the maps were changed. */
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
    this.#changeMaps(now);
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

  /** Once a minute, forgets the levels that no request has used during the last one. */
  #changeMaps(now: number): void {
    if (now - this.#changedAt < FORGET_MS) return;
    this.#changedAt = now;
    this.#older = this.#levels;
    this.#levels = new Map();
  }
}
