import type { Scheduler } from '../../shared/domain/scheduler.ts';

/**
 * Has the claims of one connection go on one after the other, one in a turn of the event loop: those of
 * hundreds of links are answered by the database together, and each takes some milliseconds then.
 */
export class ClaimTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  constructor(scheduler: Pick<Scheduler, 'soon'>) {
    this.#scheduler = scheduler;
  }

  /** Resolves when a claim may go on: at once where no other one has in this turn. */
  async next(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((goOn) => this.#waiting.push(goOn));
    else this.#begin();
  }

  #begin(): void {
    this.#isTaken = true;
    this.#scheduler.soon(() => this.#end());
  }

  #end(): void {
    this.#isTaken = false;
    const goOn = this.#waiting.shift();
    if (goOn === undefined) return;
    this.#begin();
    goOn();
  }
}
