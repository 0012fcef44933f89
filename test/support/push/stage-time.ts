import { ManualClock, START } from '../manual-clock.ts';

/** A timer of a function. */
interface StageTimer {
  readonly unref: () => StageTimer;
  readonly ref: () => StageTimer;
  readonly hasRef: () => boolean;
}

interface Waiting {
  readonly everyMs: number | undefined;
  readonly work: () => void;
  dueAt: number;
  real: NodeJS.Timeout;
}

/** How far time moves between two looks at what is under way, ms. */
const STEP_MS = 1000;
/** Turns of a millisecond without a request under way after which nothing more happens by itself. */
const QUIET_TURNS = 5;

/** Real time that a test may move ahead: the clock of a stage, and the timers of its functions. */
export class StageTime extends ManualClock {
  #isOver = false;
  readonly #waiting = new Map<StageTimer, Waiting>();

  /** Real time and what the test has added. */
  override now(): number {
    return Date.now() + this.#addedMs;
  }

  get #addedMs(): number {
    return super.now() - START;
  }

  /** Monotonic time, which moves with the clock. */
  readonly monotonic = (): number => performance.now() + this.#addedMs;

  /** Moves time ahead in steps, each of which waits until nobody is busy. */
  async pass(ms: number, isBusy: () => boolean): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.advance({ ms: Math.min(left, STEP_MS) });
      this.#fireDue();
      for (let turns = 0; turns < QUIET_TURNS; turns++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (isBusy()) turns = 0;
      }
    }
  }

  /** Ends all timers, also of functions that still run. */
  stop(): void {
    this.#isOver = true;
    for (const timer of [...this.#waiting.keys()]) this.#clear(timer);
  }

  /** What a function has in place of the globals of these names. */
  get globals() {
    const clear = (timer: StageTimer | undefined) => {
      if (timer !== undefined) this.#clear(timer);
    };
    return {
      Date: this.#date(),
      performance: { now: this.monotonic },
      setTimeout: (work: () => void, ms = 0) => this.#set(work, ms, undefined),
      setInterval: (work: () => void, ms: number) => this.#set(work, ms, ms),
      clearTimeout: clear,
      clearInterval: clear,
    };
  }

  #set(work: () => void, ms: number, everyMs: number | undefined): StageTimer {
    const timer: StageTimer = {
      unref: () => {
        this.#waiting.get(timer)?.real.unref();
        return timer;
      },
      ref: () => timer,
      hasRef: () => true,
    };
    this.#start(timer, { work, everyMs, dueAt: this.monotonic() + ms });
    return timer;
  }

  #start(timer: StageTimer, { work, everyMs, dueAt }: Omit<Waiting, 'real'>): void {
    if (this.#isOver) return;
    const real = setTimeout(() => this.#fire(timer), Math.max(0, dueAt - this.monotonic()));
    this.#waiting.set(timer, { work, everyMs, dueAt, real });
  }

  #clear(timer: StageTimer): void {
    clearTimeout(this.#waiting.get(timer)?.real);
    this.#waiting.delete(timer);
  }

  #fire(timer: StageTimer): void {
    const waiting = this.#waiting.get(timer);
    this.#clear(timer);
    if (waiting === undefined) return;
    const { everyMs } = waiting;
    if (everyMs !== undefined) {
      this.#start(timer, { ...waiting, dueAt: this.monotonic() + everyMs });
    }
    waiting.work();
  }

  #fireDue(): void {
    const now = this.monotonic();
    for (const [timer, { dueAt }] of [...this.#waiting]) if (dueAt <= now) this.#fire(timer);
  }

  /** The class of dates by this clock. */
  #date(): DateConstructor {
    const now = () => this.now();
    return class extends Date {
      constructor(...parts: [] | [number | string | Date]) {
        super(...((parts.length === 0 ? [now()] : parts) as [number]));
      }

      static override now(): number {
        return now();
      }
    } as DateConstructor;
  }
}
