import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Intake } from './intake.ts';

/**
 * Divides the time of the process among connections that all have much to be read: each has turns. Those
 * whose peers have proved no right share one, so that however many they are, others are served in between.
 */
export class InputTurns {
  readonly #scheduler: Pick<Scheduler, 'now' | 'soon'>;
  /** What goes on with strangers' connections that wait, in order. */
  #waiting: (() => void)[] = [];
  /** When strangers have had their share of this turn of the event loop, monotonic ms; unless they had none. */
  #until: number | undefined;

  constructor(scheduler: Pick<Scheduler, 'now' | 'soon'>) {
    this.#scheduler = scheduler;
  }

  /** Whether a connection may go on now. Where its turn is over it goes on by itself in a later one. */
  mayGoOn(
    { isProved, isTurnOver }: Pick<ConnectionLimits, 'isProved' | 'isTurnOver'>,
    intake: Intake,
  ): boolean {
    if (intake.isPaused) return false;
    if (!isTurnOver && (isProved || !this.#isStrangersTurnOver())) return true;
    intake.pause('turn');
    const goOn = () => intake.resume('turn');
    if (isProved) this.#scheduler.soon(goOn);
    else this.#wait(goOn);
    return false;
  }

  #isStrangersTurnOver(): boolean {
    return this.#scheduler.now() >= (this.#until ?? this.#begin());
  }

  #wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    if (this.#until === undefined) this.#begin();
  }

  #begin(): number {
    this.#until = this.#scheduler.now() + BUDGETS.turnMs;
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
    while (next < waiting.length && !this.#isStrangersTurnOver()) waiting[next++]?.();
    // Those who have had their turn and want more are behind those who have not.
    this.#waiting = [...waiting.slice(next), ...this.#waiting];
  }
}
