import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { BrokerParts } from '../dependencies.ts';

/** Divides long work of one request into turns, so that a process still serves others meanwhile. */
export class Turn {
  readonly #parts: Pick<BrokerParts, 'monotonicNow' | 'soon'>;
  #until: number;

  constructor(parts: Pick<BrokerParts, 'monotonicNow' | 'soon'>) {
    this.#parts = parts;
    this.#until = parts.monotonicNow() + BUDGETS.turnMs;
  }

  /** Whether it is the turn of others. */
  get isOver(): boolean {
    return this.#parts.monotonicNow() > this.#until;
  }

  /** Lets others have theirs. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#parts.soon(resolve);
    });
    this.#until = this.#parts.monotonicNow() + BUDGETS.turnMs;
  }
}
