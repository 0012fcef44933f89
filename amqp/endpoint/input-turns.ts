import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Intake } from './intake.ts';

const { beforeRight, afterRight } = BUDGETS.connection;

type TurnScheduler = Pick<Scheduler, 'now' | 'soon'>;

/**
 * Divides the time of the process among connections that all have much to be read: each has turns. Those
 * whose peers have proved a right share a bounded time in each turn of the event loop, and so do the
 * strangers, so that however many they are, others are served in between.
 */
export class InputTurns {
  readonly #strangers: SharedTurn;
  readonly #proved: SharedTurn;

  constructor(scheduler: TurnScheduler) {
    this.#strangers = new SharedTurn(scheduler, beforeRight.turnMs);
    this.#proved = new SharedTurn(scheduler, afterRight.turnMs);
  }

  /** Whether a connection may go on now. Where its turn is over it goes on by itself in a later one. */
  mayGoOn(
    { isProved, isTurnOver }: Pick<ConnectionLimits, 'isProved' | 'isTurnOver'>,
    intake: Intake,
  ): boolean {
    if (intake.isPaused) return false;
    const shared = this.#shared(isProved);
    if (!isTurnOver && !shared.isOver) return true;
    intake.pause('turn');
    shared.wait(() => intake.resume('turn'));
    return false;
  }

  /** The same for what is not paused while it waits: `goOn` is called where it may not go on now. */
  hasTime({ isProved }: Pick<ConnectionLimits, 'isProved'>, goOn: () => void): boolean {
    const shared = this.#shared(isProved);
    if (!shared.isOver) return true;
    shared.wait(goOn);
    return false;
  }

  #shared(isProved: boolean): SharedTurn {
    return isProved ? this.#proved : this.#strangers;
  }
}

/** A time that many connections have together in each turn of the event loop. */
class SharedTurn {
  readonly #scheduler: TurnScheduler;
  readonly #ms: number;
  /** What goes on with the connections that wait, in order. */
  #waiting: (() => void)[] = [];
  /** When the time of this turn of the event loop is used up, monotonic ms; unless none of it was used. */
  #until: number | undefined;

  constructor(scheduler: TurnScheduler, ms: number) {
    this.#scheduler = scheduler;
    this.#ms = ms;
  }

  get isOver(): boolean {
    return this.#scheduler.now() >= (this.#until ?? this.#begin());
  }

  /** Calls `goOn` in a later turn of the event loop, behind those who wait already. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    if (this.#until === undefined) this.#begin();
  }

  #begin(): number {
    this.#until = this.#scheduler.now() + this.#ms;
    this.#scheduler.soon(() => this.#end());
    return this.#until;
  }

  #end(): void {
    this.#until = undefined;
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#begin();
    let next = 0;
    while (next < waiting.length && !this.isOver) waiting[next++]?.();
    // Those who have had their turn and want more are behind those who have not.
    this.#waiting = [...waiting.slice(next), ...this.#waiting];
  }
}
