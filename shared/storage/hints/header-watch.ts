import { BrokerError } from '../../domain/broker-error.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { readHeaderVersions } from '../append/partition-header.ts';
import { chunks } from '../dynamodb/chunks.ts';
import type { Table } from '../dynamodb/table.ts';

/** Time between two reads of the watched headers, ms. */
const READ_MS = 2000;
/** Headers in one request: as many items as a batch of gets takes. */
const HEADERS_PER_READ = 100;
/** Headers that one process watches. */
const HEADERS_MAX = 10_000;

/** What a watch of partition headers needs. */
export interface HeaderWatchDependencies {
  readonly scheduler: Scheduler;
  /**
   * Reads headers by their names, up to `HEADERS_PER_READ`: a text for each that exists, which every send and every
   * message that is scheduled changes. May be eventually consistent.
   */
  readonly read: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Runs a read; a failure is reported. */
  readonly background: (work: () => Promise<void>) => void;
}

/** The headers that one listener watches. */
export interface WatchedHeaders {
  /** Since when none of them has changed, monotonic ms; Infinity = not all of them are known. */
  readonly unchangedSince: number;
  /** Stops watching them. */
  end(): void;
}

interface Header {
  /** As it was last read; undefined = not read yet, or the last read failed. */
  version: string | undefined;
  since: number;
  readonly listeners: Set<() => void>;
}

/** Stands for a header that does not exist: its entity was deleted. */
const MISSING = '';

/**
 * Reads the headers of partitions again and again, all in a few requests, and tells when one has changed: a sender of
 * any process may have stored messages there. Half a read unit for each header and read. While nothing is watched, it
 * reads nothing.
 */
export class HeaderWatch {
  readonly #dependencies: HeaderWatchDependencies;
  readonly #headers = new Map<string, Header>();
  #timer: Timer | undefined;
  #isReading = false;

  constructor(dependencies: HeaderWatchDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Watches headers. `onNews` is called when one of them has changed, or cannot be read. Undefined = this process
   * watches too many already.
   */
  watch(names: readonly string[], onNews: () => void): WatchedHeaders | undefined {
    const added = names.filter((name) => !this.#headers.has(name));
    if (this.#headers.size + added.length > HEADERS_MAX) return undefined;
    for (const name of added) {
      const unknown = { version: undefined, since: Number.POSITIVE_INFINITY };
      this.#headers.set(name, { ...unknown, listeners: new Set() });
    }
    for (const name of names) this.#headers.get(name)?.listeners.add(onNews);
    this.#goOn();
    const headers = this.#headers;
    return {
      get unchangedSince() {
        return Math.max(...names.map((name) => headers.get(name)?.since ?? Infinity));
      },
      end: () => this.#end(names, onNews),
    };
  }

  #end(names: readonly string[], onNews: () => void): void {
    for (const name of names) {
      const header = this.#headers.get(name);
      header?.listeners.delete(onNews);
      if (header?.listeners.size === 0) this.#headers.delete(name);
    }
    if (this.#headers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #goOn(): void {
    if (this.#isReading || this.#timer !== undefined || this.#headers.size === 0) return;
    const { scheduler, background } = this.#dependencies;
    this.#timer = scheduler.after(READ_MS, () => background(() => this.#readAll()));
  }

  async #readAll(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    try {
      const unread = new Set(this.#headers.keys());
      // One after the other, because receives that were woken have requests, too.
      for (const names of chunks([...unread], HEADERS_PER_READ)) {
        await this.#readSome(names, unread);
      }
    } finally {
      this.#isReading = false;
      this.#goOn();
    }
  }

  /** Reads headers, which it removes from those that are not read yet. While a read hangs, none of these is known. */
  async #readSome(names: readonly string[], unread: Set<string>): Promise<void> {
    const hanging = this.#dependencies.scheduler.after(READ_MS, () => this.#noteUnknown(unread));
    try {
      const versions = await this.#dependencies.read(names);
      for (const name of names) this.#noteVersion(name, versions.get(name) ?? MISSING);
    } catch (error) {
      this.#noteUnknown(names);
      // The database is busy; those that wait look for themselves meanwhile.
      if (!(error instanceof BrokerError)) throw error;
    } finally {
      hanging.cancel();
      for (const name of names) unread.delete(name);
    }
  }

  #noteUnknown(names: Iterable<string>): void {
    for (const name of names) this.#noteVersion(name, undefined);
  }

  #noteVersion(name: string, version: string | undefined): void {
    const header = this.#headers.get(name);
    if (header === undefined || (version !== undefined && header.version === version)) return;
    const isFirst = header.version === undefined;
    header.version = version;
    // After the read, so that what it has seen was written before.
    header.since = version === undefined ? Infinity : this.#dependencies.scheduler.now();
    if (isFirst) return;
    for (const tell of [...header.listeners]) tell();
  }
}

/** Creates the watch of a process. */
export type WatchHeaders = (
  parts: Pick<HeaderWatchDependencies, 'scheduler' | 'background'> & { readonly table: Table },
) => HeaderWatch;

/** A watch of the headers in the messages table. */
export const watchHeaders: WatchHeaders = ({ table, ...parts }) =>
  new HeaderWatch({ ...parts, read: (names) => readHeaderVersions(table, names) });
