import { resultOf } from '../../domain/result-of.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import type { StreamCalls, StreamRecord } from './stream-calls.ts';
import { type StreamFault, streamFaultOf } from './stream-faults.ts';

/** The time between two reads of a shard, ms: while it keeps up, and while more records lie ready. */
export interface ReadPace {
  readonly idleMs: number;
  readonly behindMs: number;
}

/** DynamoDB allows five reads of a shard a second, for all readers together; Lambda makes four. */
export const DEPLOYED_PACE: ReadPace = { idleMs: 250, behindMs: 200 };
/** An engine on this machine has no such bound. */
export const LOCAL_PACE: ReadPace = { idleMs: 25, behindMs: 5 };

/** How long a reader pauses after a failed read, ms; twice as long each time. */
const BUSY_PAUSE_MS = { first: 500, most: 30_000 } as const;

/** What a reader tells. It tells nothing after `ended` and `failed`, and after `close`. */
export interface ShardEvents {
  readonly records: (records: readonly StreamRecord[]) => void;
  /** The shard is closed, and read to its end. */
  readonly ended: () => void;
  /** It cannot be read on. */
  readonly failed: (fault: Exclude<StreamFault, 'busy'>, error: unknown) => void;
}

/** Reads one shard again and again. */
export class ShardReader {
  readonly #calls: Pick<StreamCalls, 'read'>;
  readonly #scheduler: Scheduler;
  readonly #pace: ReadPace;
  readonly #events: ShardEvents;
  #iterator: string;
  #caughtUpAt: number;
  #pauseMs: number = BUSY_PAUSE_MS.first;
  #timer: Timer | undefined;
  #isOver = false;

  /** `caughtUpAt` = the instant at which `iterator` was behind no record, monotonic ms. */
  constructor(
    {
      calls,
      scheduler,
      pace,
    }: {
      readonly calls: Pick<StreamCalls, 'read'>;
      readonly scheduler: Scheduler;
      readonly pace: ReadPace;
    },
    events: ShardEvents,
    start: { readonly iterator: string; readonly caughtUpAt: number },
  ) {
    this.#calls = calls;
    this.#scheduler = scheduler;
    this.#pace = pace;
    this.#events = events;
    this.#iterator = start.iterator;
    this.#caughtUpAt = start.caughtUpAt;
    this.#readAfter(pace.behindMs);
  }

  /** When the last read began that left no record behind, monotonic ms. */
  get caughtUpAt(): number {
    return this.#caughtUpAt;
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #readAfter(ms: number): void {
    this.#timer = this.#scheduler.after(ms, () => void this.#read());
  }

  async #read(): Promise<void> {
    const beganAt = this.#scheduler.now();
    const page = await resultOf(this.#calls.read(this.#iterator));
    if (this.#isOver) return;
    if ('error' in page) return this.#readFailed(page.error);
    const { records, next, isFull } = page.value;
    this.#pauseMs = BUSY_PAUSE_MS.first;
    if (!isFull) this.#caughtUpAt = beganAt;
    if (records.length > 0) this.#events.records(records);
    if (this.#isOver) return;
    if (next === undefined) {
      this.close();
      this.#events.ended();
      return;
    }
    this.#iterator = next;
    this.#readAfter(isFull ? this.#pace.behindMs : this.#pace.idleMs);
  }

  #readFailed(error: unknown): void {
    const fault = streamFaultOf(error);
    if (fault !== 'busy') {
      this.close();
      this.#events.failed(fault, error);
      return;
    }
    this.#readAfter(this.#pauseMs);
    this.#pauseMs = Math.min(BUSY_PAUSE_MS.most, 2 * this.#pauseMs);
  }
}
