import { BUDGETS } from './budgets.ts';
import { PeerRounds } from './peer-rounds.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * Divides the time of a process among requests that each take long to read: work that peers asked for
 * together is begun in the same turn of the event loop for a moment only, so that others are served in
 * between. Peers have their turns one after the other, however much each of them asks for, and in
 * however small steps: whoever has its turn has it for the whole moment.
 */
export class WorkTurns {
  readonly #scheduler: Pick<Scheduler, 'now' | 'soon'>;
  readonly #waiting = new PeerRounds<() => void>();
  /** When the work of this turn is enough, monotonic ms; undefined where none was begun in it. */
  #until: number | undefined;
  /** Whose turn it is, among those that had to wait. */
  #current: object | undefined;

  constructor(scheduler: Pick<Scheduler, 'now' | 'soon'>) {
    this.#scheduler = scheduler;
  }

  /**
   * Resolves when work may begin: at once, or in a later turn where this one has had enough. `peer` = for
   * whom it is: the same object for all steps of one request or operation, and for all of one connection;
   * absent = for somebody who asks for nothing else.
   */
  async next(peer: object = {}): Promise<void> {
    if (this.#until === undefined) this.#begin();
    else if (peer === this.#current && !this.#isOver) return;
    else if (!this.#waiting.isEmpty || this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.add(peer, resolve));
    }
  }

  get #isOver(): boolean {
    return this.#until === undefined || this.#scheduler.now() >= this.#until;
  }

  #begin(): void {
    const until = this.#scheduler.now() + BUDGETS.turnMs;
    this.#until = until;
    this.#scheduler.soon(() => this.#end(until));
  }

  /** A turn that took too long is followed by others in which nothing is begun, as long as they are short. */
  #end(until: number): void {
    this.#current = undefined;
    const overMs = Math.max(0, this.#scheduler.now() - until);
    this.#rest(Math.min(Math.ceil(overMs / BUDGETS.turnMs), BUDGETS.turnsOwed));
  }

  #rest(turns: number): void {
    if (turns > 0) this.#scheduler.soon(() => this.#rest(turns - 1));
    else this.#goOn();
  }

  #goOn(): void {
    this.#until = undefined;
    // One alone: those that were let go together would all begin before time has passed.
    const next = this.#waiting.next();
    if (next === undefined) return;
    this.#begin();
    this.#current = next.peer;
    next.waiting();
  }
}
