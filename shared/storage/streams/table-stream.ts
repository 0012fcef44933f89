import { resultOf } from '../../domain/result-of.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { type News, newsOf } from './news.ts';
import { type StreamFault, streamFaultOf } from './stream-faults.ts';
import { type FollowerDependencies, StreamFollower } from './stream-follower.ts';

/** How long the stream is read on after nobody waits any more, ms: receives often wait again at once. */
const LINGER_MS = 10_000;
/** How often it is checked that all shards are read in time, ms. */
const CHECK_MS = 1000;
/** How long to wait after a failure before the stream is opened again, ms; twice as long each time. */
const REOPEN_MS = { first: 500, most: 60_000 } as const;
/** The same where the table has no stream, or AWS refuses, ms. */
const REFUSED_MS = 300_000;

/** What hears the stream while receives wait. */
export interface StreamListener {
  readonly hear: (news: News) => void;
  /** From now on records may come late, or have been lost: `TableStream.coveredSince` has changed. */
  readonly lapsed: () => void;
}

/** An attempt to open the stream. */
interface Opening {
  follower: StreamFollower | undefined;
}

/** What a table's stream needs. */
export interface TableStreamDependencies extends FollowerDependencies {
  /** Called with an error that lasts, once for each kind. */
  readonly report: (error: unknown) => void;
}

/**
 * The stream of changes of a table, as this process hears it. It may wake, and never decides: a record that is lost,
 * late, doubled or out of order changes only how soon a receive looks. It is read only while somebody listens, and a
 * receive that begins to listen looks once itself. A table without a stream is as one whose stream is always late.
 */
export class TableStream {
  readonly #dependencies: TableStreamDependencies;
  readonly #listeners = new Set<StreamListener>();
  readonly #reported = new Set<string>();
  #follower: StreamFollower | undefined;
  /** When the follower had begun, monotonic ms; Infinity = it has not. */
  #begunAt = Number.POSITIVE_INFINITY;
  #wasCurrent = false;
  #check: Timer | undefined;
  #reopen: Timer | undefined;
  /** The attempt to open it that is under way. */
  #opening: Opening | undefined;
  #linger: Timer | undefined;
  #reopenMs: number = REOPEN_MS.first;
  #isOver = false;

  constructor(dependencies: TableStreamDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Since when every record reaches the listeners within moments, monotonic ms. Infinity = not at this moment. What was
   * written before, a listener has to look for.
   */
  get coveredSince(): number {
    return this.#follower?.isCurrent === true ? this.#begunAt : Number.POSITIVE_INFINITY;
  }

  /** Begins to tell a listener. Returns a function that ends it. */
  attend(listener: StreamListener): () => void {
    this.#listeners.add(listener);
    this.#linger?.cancel();
    this.#linger = undefined;
    const isIdle =
      this.#follower === undefined && this.#opening === undefined && this.#reopen === undefined;
    if (isIdle && !this.#isOver) void this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0 || this.#isOver) return;
      this.#linger?.cancel();
      this.#linger = this.#scheduler.after(LINGER_MS, () => this.#park());
    };
  }

  /** Ends all reading. */
  close(): void {
    this.#isOver = true;
    this.#linger?.cancel();
    this.#listeners.clear();
    this.#park();
  }

  get #scheduler(): Scheduler {
    return this.#dependencies.scheduler;
  }

  #park(): void {
    this.#stop();
    this.#reopen?.cancel();
    this.#reopen = undefined;
    this.#opening?.follower?.close();
    this.#opening = undefined;
  }

  #stop(): void {
    this.#follower?.close();
    this.#check?.cancel();
    this.#follower = undefined;
    this.#begunAt = Number.POSITIVE_INFINITY;
    this.#wasCurrent = false;
  }

  async #open(): Promise<void> {
    const opening: Opening = { follower: undefined };
    this.#opening = opening;
    const outcome = await resultOf(this.#begin(opening));
    if (this.#opening !== opening) return;
    this.#opening = undefined;
    const { follower } = opening;
    if ('error' in outcome) {
      follower?.close();
      this.#failed(streamFaultOf(outcome.error), outcome.error);
    } else if (follower === undefined) this.#reopenAfter(REFUSED_MS);
    else if (follower.isOver) this.#failed('lost', undefined);
    else this.#follow(follower);
  }

  /** Begins to read, unless the table has no stream. */
  async #begin(opening: Opening): Promise<void> {
    const stream = await this.#dependencies.calls.find();
    if (stream === undefined || this.#opening !== opening) return;
    const follower: StreamFollower = new StreamFollower(this.#dependencies, stream, {
      records: (records) => {
        if (this.#listeners.size === 0) return;
        const news = newsOf(records);
        for (const listener of [...this.#listeners]) listener.hear(news);
      },
      failed: (fault, error) => {
        if (this.#follower === follower) this.#failed(fault, error);
      },
    });
    opening.follower = follower;
    await follower.begin();
  }

  #follow(follower: StreamFollower): void {
    this.#follower = follower;
    this.#begunAt = this.#scheduler.now();
    this.#wasCurrent = true;
    this.#checkLater();
  }

  #checkLater(): void {
    this.#check = this.#scheduler.after(CHECK_MS, () => {
      const isCurrent = this.#follower?.isCurrent === true;
      if (isCurrent) this.#reopenMs = REOPEN_MS.first;
      if (this.#wasCurrent && !isCurrent) this.#lapse();
      this.#wasCurrent = isCurrent;
      this.#checkLater();
    });
  }

  #lapse(): void {
    for (const listener of [...this.#listeners]) listener.lapsed();
  }

  #failed(fault: StreamFault, error: unknown): void {
    if (fault === 'refused') this.#reportOnce(error);
    this.#stop();
    this.#lapse();
    this.#reopenAfter(fault === 'refused' ? REFUSED_MS : this.#reopenMs);
    this.#reopenMs = Math.min(REOPEN_MS.most, 2 * this.#reopenMs);
  }

  #reopenAfter(ms: number): void {
    this.#reopen?.cancel();
    if (this.#isOver) return;
    this.#reopen = this.#scheduler.after(ms, () => {
      this.#reopen = undefined;
      if (this.#listeners.size > 0) void this.#open();
    });
  }

  #reportOnce(error: unknown): void {
    const name = error instanceof Error ? error.name : String(error);
    // An engine without streams is as a table without one.
    if (name === 'UnknownOperationException' || this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#dependencies.report(error);
  }
}
