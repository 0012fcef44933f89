import { BUDGETS } from '../budgets/budgets.ts';

/**
 * The time that one kind of work has in each turn of the event loop. What has begun is not interrupted: what
 * it takes too long is taken off the turns that follow: each makes up for its own time, or for a share of what
 * others took of it where that is more, so that who waits does not wait the longer the slower others are.
 */
export class TurnTime {
  readonly #now: () => number;
  readonly #ms: number;
  /** What was used of this turn, with what turns before it took too long, ms. */
  #usedMs = 0;
  #beganAt = 0;
  /** What this kind of work took of this turn, ms. */
  #ownMs = 0;

  /** `now` = a monotonic clock, ms; `ms` = in each turn nothing begins after so much of this work. */
  constructor(now: () => number, ms: number) {
    this.#now = now;
    this.#ms = ms;
  }

  get now(): number {
    return this.#now();
  }

  /** Whether nothing more may begin in this turn; `since` = when what goes on began, absent = nothing does. */
  isUsedUp(since?: number): boolean {
    const goesOnMs = since === undefined ? 0 : this.now - since;
    return this.#usedMs + goesOnMs >= this.#ms;
  }

  begin(): void {
    this.#beganAt = this.now;
    this.#ownMs = 0;
  }

  /** Counts what went on since then. */
  count(since: number): void {
    const ms = this.now - since;
    this.#ownMs += ms;
    this.#usedMs = Math.min(this.#usedMs + ms, this.#ms * BUDGETS.turnsOwed);
  }

  /** Ends the turn; returns whether there is less time in the next one. */
  end(): boolean {
    const othersMs = this.now - this.#beganAt - this.#ownMs;
    const madeUpMs = Math.max(this.#ms, othersMs * BUDGETS.turnShare);
    this.#usedMs = Math.max(0, this.#usedMs - madeUpMs);
    return this.#usedMs > 0;
  }
}
