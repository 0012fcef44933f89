import { BUDGETS } from '../budgets/budgets.ts';

/**
 * The time that one kind of work may take in each turn of the event loop. Running work is not interrupted. If it takes
 * too long, the excess is a debt, and no such work begins in later turns until the debt is paid. Each turn pays `ms`,
 * or `BUDGETS.turnShare` of the time that other work took in it if that is more. Example: after an excess of 12 ms at 5
 * ms a turn, the next two turns begin no such work.
 */
export class TurnTime {
  readonly #now: () => number;
  readonly #ms: number;
  /** Time used in this turn, with the debt of turns before it, ms. */
  #usedMs = 0;
  #beganAt = 0;
  /** Time that this kind of work took in this turn, ms. */
  #ownMs = 0;

  /**
   * `now` = a monotonic clock, ms; `ms` = the time of this work in a turn after which no more of it begins.
   */
  constructor(now: () => number, ms: number) {
    this.#now = now;
    this.#ms = ms;
  }

  /** The monotonic clock, ms. */
  get now(): number {
    return this.#now();
  }

  /**
   * Whether the time of this turn is used up. `since` = when the running work began, absent = none is
   * running.
   */
  isUsedUp(since?: number): boolean {
    const goesOnMs = since === undefined ? 0 : this.now - since;
    return this.#usedMs + goesOnMs >= this.#ms;
  }

  /** Begins a turn. */
  begin(): void {
    this.#beganAt = this.now;
    this.#ownMs = 0;
  }

  /** Counts work that ran from `since` until now. */
  count(since: number): void {
    const ms = this.now - since;
    this.#ownMs += ms;
    this.#usedMs = Math.min(this.#usedMs + ms, this.#ms * BUDGETS.turnsOwed);
  }

  /** Ends the turn. Returns whether the next turn owes time. */
  end(): boolean {
    const othersMs = this.now - this.#beganAt - this.#ownMs;
    const madeUpMs = Math.max(this.#ms, othersMs * BUDGETS.turnShare);
    this.#usedMs = Math.max(0, this.#usedMs - madeUpMs);
    return this.#usedMs > 0;
  }
}
