import type { Scheduler, Timer } from '../../../shared/domain/scheduler.ts';
import { repeat } from '../machines/repeat.ts';

/** The start of every world, epoch ms. */
const START = Date.UTC(2026, 0, 1);

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
  isCancelled: boolean;
}

/**
 * The time of a world. It does not pass while requests are under way, unless an actor lets time pass;
 * timers ring when no other event can happen.
 */
export class WorldTime {
  /** Epoch ms, a whole number. */
  now: number;
  #alarms: Alarm[] = [];
  #order = 0;

  constructor(now = START) {
    this.now = now;
  }

  /** Calls `work` after a span, ms. */
  after(ms: number, work: () => void): Timer {
    const at = this.now + Math.max(0, Math.ceil(ms));
    const alarm: Alarm = { at, order: this.#order++, work, isCancelled: false };
    this.#alarms.push(alarm);
    return {
      cancel: () => {
        alarm.isCancelled = true;
      },
    };
  }

  /** When the next timer rings, epoch ms; undefined = there is none. */
  nextAt(): number | undefined {
    this.#alarms = this.#alarms.filter(({ isCancelled }) => !isCancelled);
    return this.#alarms.length === 0 ? undefined : Math.min(...this.#alarms.map(({ at }) => at));
  }

  /** Lets the next timer ring. */
  ring(): void {
    const at = this.nextAt();
    const due = this.#alarms.filter((alarm) => alarm.at === at);
    const first = due.reduce((a, b) => (a.order < b.order ? a : b));
    this.#alarms = this.#alarms.filter((alarm) => alarm !== first);
    this.now = Math.max(this.now, first.at);
    first.work();
  }
}

/** May take over work after a short pause. Returns false if it does not, so that a timer is set. */
export type TakePause = (ms: number, work: () => void) => boolean;

/** The scheduler of one process of a world; no timer rings once the process has ended. */
export class ProcessScheduler implements Scheduler {
  isOver = false;
  /** How long the monotonic clock was stopped so far, ms. */
  behindMs = 0;
  readonly #time: WorldTime;
  readonly #takePause: TakePause;

  constructor(time: WorldTime, takePause: TakePause) {
    this.#time = time;
    this.#takePause = takePause;
  }

  now(): number {
    return this.#time.now - this.behindMs;
  }

  after(ms: number, work: () => void): Timer {
    let isCancelled = false;
    const unlessOver = () => {
      if (!this.isOver && !isCancelled) work();
    };
    if (!this.#takePause(ms, unlessOver)) return this.#time.after(ms, unlessOver);
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }

  every(ms: number, work: () => void): Timer {
    return repeat((...timer) => this.after(...timer), ms, work);
  }

  soon(work: () => void): void {
    queueMicrotask(work);
  }
}

/** Resolves when all promise callbacks have run; a turn of the event loop would cost as much as an event. */
export function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
