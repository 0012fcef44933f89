import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { BrokerDependencies } from '../dependencies.ts';

/**
 * Divides long work of one request into turns, between which the process serves other requests. It does not queue
 * peers as `WorkTurns` does: each request has `BUDGETS.turnMs` of its own in a turn, so N requests at once make a turn
 * N times as long.
 */
export class TimeSlice {
  readonly #dependencies: Pick<BrokerDependencies, 'monotonicNow' | 'soon'>;
  #until: number;

  constructor(dependencies: Pick<BrokerDependencies, 'monotonicNow' | 'soon'>) {
    this.#dependencies = dependencies;
    this.#until = dependencies.monotonicNow() + BUDGETS.turnMs;
  }

  /** Whether other requests should have a turn now. */
  get isOver(): boolean {
    return this.#dependencies.monotonicNow() > this.#until;
  }

  /** Waits for the next turn. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#dependencies.soon(resolve);
    });
    this.#until = this.#dependencies.monotonicNow() + BUDGETS.turnMs;
  }
}
