import { Table } from './table.ts';
import { Throughput } from './throughput.ts';

/** The settings of a simulated database. */
export interface DatabaseSettings {
  /** The database's own clock, epoch ms, which never goes back. */
  readonly now: () => number;
  /** Draws from [0, 1), which decide how stale a read is and which items of a batch stay unprocessed. */
  readonly random: () => number;
  /**
   * The largest age of an eventually consistent read, ms; 0 = never stale; default 1000. A page of a query
   * shows its collection at one instant, as one replica does.
   */
  readonly staleMsMax?: number;
  /** Whether item collections are limited to 1,000 write and 3,000 read units a second; default true. */
  readonly throttles?: boolean;
  /** The chance that a batch leaves some of its items unprocessed; default 0. */
  readonly unprocessedChance?: number;
}

/** The default of `staleMsMax`. */
const STALE_MS_MAX = 1000;

/** The tables and the other state that operations use. */
export class State {
  readonly now: () => number;
  readonly random: () => number;
  readonly unprocessedChance: number;
  readonly throughput: Throughput;
  readonly tables = new Map<string, Table>();
  readonly #held = new Map<string, object>();
  readonly #staleMsMax: number;

  constructor(settings: DatabaseSettings) {
    const { now, random, staleMsMax = STALE_MS_MAX, throttles = true } = settings;
    this.now = now;
    this.random = random;
    this.unprocessedChance = settings.unprocessedChance ?? 0;
    this.throughput = new Throughput(throttles, now);
    this.#staleMsMax = staleMsMax;
  }

  /** A table by name, created at its first use. */
  table(name: string): Table {
    const known = this.tables.get(name);
    if (known !== undefined) return known;
    const table = new Table(name, this.#staleMsMax);
    this.tables.set(name, table);
    return table;
  }

  /** The instant that a read shows, epoch ms. */
  readInstant(isConsistent: boolean): number {
    const now = this.now();
    return isConsistent || this.#staleMsMax === 0 ? now : now - this.random() * this.#staleMsMax;
  }

  /** Whether a transaction holds an item. */
  isHeld(table: string, pk: string, sk: string): boolean {
    return this.#held.size > 0 && this.#held.has(holdKey(table, pk, sk));
  }

  /** Lets a transaction hold an item, which need not exist. */
  hold(table: string, pk: string, sk: string, holder: object): void {
    this.#held.set(holdKey(table, pk, sk), holder);
  }

  /** Ends the hold of a transaction on an item. */
  release(table: string, pk: string, sk: string, holder: object): void {
    const key = holdKey(table, pk, sk);
    if (this.#held.get(key) === holder) this.#held.delete(key);
  }
}

function holdKey(table: string, pk: string, sk: string): string {
  return `${table}\n${pk}\n${sk}`;
}
