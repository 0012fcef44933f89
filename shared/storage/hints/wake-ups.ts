import type { Arrival, Arrivals } from '../../broker/ports/wake-ups.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { logName } from '../schema/message-keys.ts';

/** So soon somebody looks, then less and less often while nothing comes. */
const POLL_MS = { first: 500, most: 2000 } as const;
const POLL_GROWTH = 1.2;

/**
 * Wakes receivers of this process when something comes into a log they wait on: one of them, who lets
 * the next one know once it has got something. What other processes send nobody tells, so from time
 * to time one of those who wait looks for all.
 */
export class Signals implements Arrivals {
  /** Each under all of its logs. */
  readonly #lines = new Map<string, Line>();
  readonly #scheduler: Scheduler;
  #isClosing = false;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Lets all who wait go, now and from now on. */
  close(): void {
    this.#isClosing = true;
    this.signalAll();
  }

  /** Something may have come into the log with this key. */
  signal(log: string): void {
    this.#lines.get(log)?.came();
  }

  /** Anything may have changed: the clock was moved. */
  signalAll(): void {
    for (const line of new Set(this.#lines.values())) line.wakeAll();
  }

  wait(logs: readonly Log[], ms: number): Arrival {
    const keys = logs.map(logName);
    const [first = ''] = keys;
    const line = this.#lines.get(first) ?? new Line(this.#scheduler);
    for (const key of keys) this.#lines.set(key, line);
    return new Waiter(line, ms, () => {
      const current = this.#lines.get(first);
      // Who was woken and leaves leaves it to the next, in whatever line that stands by now.
      if (!line.isEmpty || current !== line) return current;
      for (const key of keys) this.#lines.delete(key);
      return undefined;
    });
  }
}

/** Those who wait on the same logs, the longest first. */
class Line {
  readonly scheduler: Scheduler;
  readonly #waiting = new Set<Waiter>();
  #pollMs: number = POLL_MS.first;
  #timer: Timer | undefined;

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** How long it takes at most until one of them looks. */
  get pollMs(): number {
    return this.#pollMs;
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    this.#timer ??= this.#nextPoll();
  }

  remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.isEmpty) this.#stop();
  }

  /** There is something, and perhaps more to come. */
  came(): void {
    this.#pollMs = POLL_MS.first;
    this.#wakeOne();
  }

  wakeAll(): void {
    for (const waiter of [...this.#waiting]) waiter.wake();
  }

  #poll(): void {
    this.#stop();
    this.#pollMs = Math.min(POLL_MS.most, this.#pollMs * POLL_GROWTH);
    this.#wakeOne();
    if (!this.isEmpty) this.#timer = this.#nextPoll();
  }

  #nextPoll(): Timer {
    return this.scheduler.after(this.#pollMs, () => this.#poll());
  }

  #wakeOne(): void {
    const [longest] = this.#waiting;
    longest?.wake();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** One who waits, until woken or for its time. */
class Waiter implements Arrival {
  readonly done: Promise<void>;
  readonly #line: Line;
  readonly #leave: () => Line | undefined;
  readonly #deadline: Timer;
  #timer: Timer | undefined;
  #state: 'waiting' | 'woken' | 'over' = 'waiting';
  #resolve = () => {};

  /** `leave` is called when it wants no more, and tells the line in which others wait. */
  constructor(line: Line, ms: number, leave: () => Line | undefined) {
    this.#line = line;
    this.#leave = leave;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#deadline = line.scheduler.after(ms, () => this.#end('over'));
    line.add(this);
  }

  wake(): void {
    this.#end('woken');
  }

  within(ms: number): void {
    if (this.#state !== 'waiting' || ms >= this.#line.pollMs) return;
    this.#timer = this.#line.scheduler.after(ms, () => this.wake());
  }

  lookedInVain(): void {
    this.#end('over');
    this.#leave();
  }

  cancel(): void {
    const wasWoken = this.#state === 'woken';
    this.#end('over');
    const line = this.#leave();
    if (wasWoken) line?.came();
  }

  #end(state: 'woken' | 'over'): void {
    if (this.#state === 'waiting') {
      this.#deadline.cancel();
      this.#timer?.cancel();
      this.#line.remove(this);
      this.#resolve();
    }
    this.#state = state;
  }
}
