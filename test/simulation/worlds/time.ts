import type { Scheduler, Timer } from '../../../shared/domain/scheduler.ts';
import { repeat } from '../engine/repeat.ts';

/** The instant at which every world begins, epoch ms. */
const START = Date.UTC(2026, 0, 1);

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
  isCancelled: boolean;
}

/**
 * The time of a world. It stands still while requests are under way, unless an actor lets time pass; timers ring
 * when nothing else can happen.
 */
export class WorldTime {
  /** Epoch ms, a whole number. */
  now: number;
  #alarms: Alarm[] = [];
  #order = 0;

  constructor(now = START) {
    this.now = now;
  }

  /** Has something happen after so many milliseconds. */
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

  /** Has the next timer ring. */
  ring(): void {
    const at = this.nextAt();
    const due = this.#alarms.filter((alarm) => alarm.at === at);
    const first = due.reduce((a, b) => (a.order < b.order ? a : b));
    this.#alarms = this.#alarms.filter((alarm) => alarm !== first);
    this.now = Math.max(this.now, first.at);
    first.work();
  }
}

/** Takes work that is to be done after a short pause. False = it does not, and the timer rings in its time. */
export type TakePause = (ms: number, work: () => void) => boolean;

/** What one process of a world sees of its time; nothing any more once it has ended. */
export class ProcessScheduler implements Scheduler {
  isOver = false;
  /** How long the monotonic clock stood still so far, ms. */
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

/** Resolves when no promise has anything left to do. */
export function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
