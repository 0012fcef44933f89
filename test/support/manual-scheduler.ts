import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/** Turns in which promises settle. */
const TURNS = 5;

/** A monotonic clock and timers that only a test moves. */
export class ManualScheduler implements Scheduler {
  #now = 0;
  #timers: { readonly at: number; readonly work: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, work: () => void): Timer {
    const timer = { at: this.#now + ms, work };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      },
    };
  }

  every(): Timer {
    throw new Error('No series of calls is tested with this scheduler.');
  }

  soon(work: () => void): void {
    setImmediate(work);
  }

  /** Lets time pass, in steps to each timer, whose work is done before the next one. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settled();
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      const [next] = due;
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#now = Math.max(this.#now, next.at);
      next.work();
      await this.settled();
    }
    this.#now = end;
  }

  /** Resolves when all that can happen now has happened. */
  async settled(): Promise<void> {
    for (let i = 0; i < TURNS; i++) await new Promise((resolve) => setImmediate(resolve));
  }
}
