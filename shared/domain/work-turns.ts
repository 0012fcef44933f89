import { BUDGETS } from './budgets.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * Divides the time of a process among requests that each take long to read: work that peers asked for
 * together is begun in the same turn of the event loop for a moment only, so that others are served in
 * between.
 */
export class WorkTurns {
  readonly #scheduler: Pick<Scheduler, 'now' | 'soon'>;
  /** Who waits for a turn, in order. */
  readonly #waiting: (() => void)[] = [];
  /** When the work of this turn is enough, monotonic ms; undefined where none was begun in it. */
  #until: number | undefined;

  constructor(scheduler: Pick<Scheduler, 'now' | 'soon'>) {
    this.#scheduler = scheduler;
  }

  /** Resolves when work may begin: at once, or in a later turn where this one has had enough. */
  async next(): Promise<void> {
    if (this.#until === undefined) this.#begin();
    else if (this.#waiting.length > 0 || this.#scheduler.now() >= this.#until) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #begin(): void {
    this.#until = this.#scheduler.now() + BUDGETS.turnMs;
    this.#scheduler.soon(() => this.#end());
  }

  #end(): void {
    this.#until = undefined;
    const first = this.#waiting.shift();
    if (first === undefined) return;
    this.#begin();
    first();
  }
}
