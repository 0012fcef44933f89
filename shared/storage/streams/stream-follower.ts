import { resultOf } from '../../domain/result-of.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { type ReadPace, ShardReader } from './shard-reader.ts';
import type { ShardStart, StreamCalls, StreamRecord, StreamShard } from './stream-calls.ts';
import { type StreamFault, streamFaultOf, TooManyShardsError } from './stream-faults.ts';

/** Shards that one process reads; each is some $2 a month in requests. */
const SHARDS_MAX = 100;
/** How late the reads of a shard may be, ms, before receivers look for themselves. */
const LATE_MS = 3000;
/** How often the shards are listed, ms, in case one appears that is no child of another. */
const LIST_EVERY_MS = 600_000;
/** The pauses in a search for the children of a closed shard, ms; twice as long each time, so often at most. */
const CHILD_PAUSE_MS = { first: 250, most: 8000 } as const;
const CHILD_SEARCHES_MAX = 8;

/** What a follower needs. */
export interface FollowerDependencies {
  readonly calls: StreamCalls;
  readonly scheduler: Scheduler;
  readonly pace: ReadPace;
}

/** What a follower tells. */
export interface FollowerEvents {
  readonly records: (records: readonly StreamRecord[]) => void;
  /** It cannot go on without loss: it has ended. */
  readonly failed: (fault: StreamFault, error: unknown) => void;
}

/**
 * Reads all open shards of a stream from now on, and those into which they split or roll over: a closed shard is read
 * to its end, and its children from their beginning. Ends itself at the first fault that loses records.
 */
export class StreamFollower {
  readonly #dependencies: FollowerDependencies;
  readonly #stream: string;
  readonly #events: FollowerEvents;
  readonly #readers = new Map<string, ShardReader>();
  /** Timers of listings, and of searches for children. */
  readonly #timers = new Set<Timer>();
  /** Closed shards whose children were not found yet. */
  #orphaned = 0;
  #isOver = false;

  constructor(dependencies: FollowerDependencies, stream: string, events: FollowerEvents) {
    this.#dependencies = dependencies;
    this.#stream = stream;
    this.#events = events;
  }

  /**
   * Begins to read. Once it resolves, every record of a later write will be told. Throws the error of the request that
   * failed.
   */
  async begin(): Promise<void> {
    const open = await this.#openShards();
    if (this.#isOver) return;
    if (open.length === 0) throw new Error('The stream has no open shard.');
    await Promise.all(open.map((id) => this.#readFrom(id, 'LATEST')));
    if (this.#isOver) return;
    this.#after(LIST_EVERY_MS, () => this.#listAgain());
  }

  /** Whether it was closed, or has ended itself. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether all shards are read, none of them late. */
  get isCurrent(): boolean {
    if (this.#isOver || this.#orphaned > 0) return false;
    const least = this.#dependencies.scheduler.now() - LATE_MS;
    return [...this.#readers.values()].every(({ caughtUpAt }) => caughtUpAt >= least);
  }

  close(): void {
    this.#isOver = true;
    for (const reader of this.#readers.values()) reader.close();
    for (const timer of this.#timers) timer.cancel();
    this.#readers.clear();
    this.#timers.clear();
  }

  async #openShards(): Promise<readonly string[]> {
    const shards = await this.#dependencies.calls.shards(this.#stream);
    const open = openOf(shards).map(({ id }) => id);
    if (open.length > SHARDS_MAX) throw new TooManyShardsError(open.length, SHARDS_MAX);
    return open;
  }

  async #readFrom(id: string, from: ShardStart): Promise<void> {
    const { calls, scheduler } = this.#dependencies;
    const iterator = await calls.iterator(this.#stream, id, from);
    if (this.#isOver || this.#readers.has(id)) return;
    const start = { iterator, caughtUpAt: scheduler.now() };
    const events = {
      records: this.#events.records,
      ended: () => {
        this.#readers.delete(id);
        this.#orphaned++;
        this.#after(0, () => this.#followChildren(id));
      },
      failed: (fault: StreamFault, error: unknown) => this.#fail(fault, error),
    };
    this.#readers.set(id, new ShardReader(this.#dependencies, events, start));
  }

  /** Reads the children of a closed shard, once there are some. */
  async #followChildren(parent: string, searches = 1): Promise<void> {
    const begun = await resultOf(this.#readChildren(parent));
    if (this.#isOver) return;
    if ('value' in begun && begun.value > 0) {
      this.#orphaned--;
      return;
    }
    const error = 'error' in begun ? begun.error : undefined;
    // A stream that was disabled has no more of them.
    const fault = error === undefined ? 'gone' : streamFaultOf(error);
    const mayPass = error === undefined || fault === 'busy';
    if (!mayPass || searches === CHILD_SEARCHES_MAX) {
      this.#fail(fault, error);
      return;
    }
    const ms = Math.min(CHILD_PAUSE_MS.most, CHILD_PAUSE_MS.first * 2 ** (searches - 1));
    this.#after(ms, () => this.#followChildren(parent, searches + 1));
  }

  /** Begins to read the children of a shard, and returns how many there are. */
  async #readChildren(parent: string): Promise<number> {
    const shards = await this.#dependencies.calls.shards(this.#stream);
    const children = shards.filter((one) => one.parent === parent);
    await Promise.all(children.map(({ id }) => this.#readFrom(id, 'TRIM_HORIZON')));
    return children.length;
  }

  /** Looks for shards that nothing else has found, in which records may have been missed. */
  async #listAgain(): Promise<void> {
    const open = await resultOf(this.#openShards());
    if (this.#isOver) return;
    if ('value' in open && this.#hasMissed(open.value)) this.#fail('lost', undefined);
    else this.#after(LIST_EVERY_MS, () => this.#listAgain());
  }

  #hasMissed(open: readonly string[]): boolean {
    // While a closed shard is read to its end, its children are not read yet.
    const isMoving =
      this.#orphaned > 0 || [...this.#readers.keys()].some((id) => !open.includes(id));
    return !isMoving && !open.every((id) => this.#readers.has(id));
  }

  #fail(fault: StreamFault, error: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#events.failed(fault, error);
  }

  #after(ms: number, work: () => Promise<void>): void {
    const timer = this.#dependencies.scheduler.after(ms, () => {
      this.#timers.delete(timer);
      void work();
    });
    this.#timers.add(timer);
  }
}

/** One engine says of its only shard that it is closed; so without an open shard, those without children count. */
function openOf(shards: readonly StreamShard[]): readonly StreamShard[] {
  const open = shards.filter(({ isClosed }) => !isClosed);
  if (open.length > 0) return open;
  const parents = new Set(shards.map(({ parent }) => parent));
  return shards.filter(({ id }) => !parents.has(id));
}
