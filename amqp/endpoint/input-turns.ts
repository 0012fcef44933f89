import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Intake } from './intake.ts';

const { unauthorized, authorized } = BUDGETS.connection;

type TurnScheduler = Pick<Scheduler, 'now' | 'soon'>;

/**
 * Divides the time of the process among connections with much input: each gets turns. Authorized
 * connections share a bounded time in each turn of the event loop, and unauthorized ones another, so
 * that other work continues however many there are.
 */
export class InputTurns {
  readonly #unauthorized: GroupTime;
  readonly #authorized: GroupTime;

  constructor(scheduler: TurnScheduler) {
    this.#unauthorized = new GroupTime(scheduler, unauthorized.turnMs);
    this.#authorized = new GroupTime(scheduler, authorized.turnMs);
  }

  /** Whether a connection may continue. If its turn is over, it is paused and resumes in a later turn. */
  mayContinue(
    { isAuthorized, isTurnOver }: Pick<ConnectionLimits, 'isAuthorized' | 'isTurnOver'>,
    intake: Intake,
  ): boolean {
    if (intake.isPaused) return false;
    const shared = this.#shared(isAuthorized);
    if (!isTurnOver && !shared.isOver) return true;
    intake.pause('turn');
    shared.wait(() => intake.resume('turn'));
    return false;
  }

  /** The same for input without a pause: if false, `resume` is called in a later turn. */
  hasTime({ isAuthorized }: Pick<ConnectionLimits, 'isAuthorized'>, resume: () => void): boolean {
    const shared = this.#shared(isAuthorized);
    if (!shared.isOver) return true;
    shared.wait(resume);
    return false;
  }

  #shared(isAuthorized: boolean): GroupTime {
    return isAuthorized ? this.#authorized : this.#unauthorized;
  }
}

/** The time that a group of connections has in each turn of the event loop. */
class GroupTime {
  readonly #scheduler: TurnScheduler;
  readonly #ms: number;
  /** Resumes the connections that wait, in order. */
  #waiting: (() => void)[] = [];
  /** When the time of this turn of the event loop is up, monotonic ms; undefined if none of it was used. */
  #until: number | undefined;

  constructor(scheduler: TurnScheduler, ms: number) {
    this.#scheduler = scheduler;
    this.#ms = ms;
  }

  get isOver(): boolean {
    return this.#scheduler.now() >= (this.#until ?? this.#begin());
  }

  /** Calls `resume` in a later turn of the event loop, after those that wait already. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
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
    // Connections that had their turn and want more wait after those that had none.
    this.#waiting = [...waiting.slice(next), ...this.#waiting];
  }
}
