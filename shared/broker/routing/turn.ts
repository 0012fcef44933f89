import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { BrokerParts } from '../dependencies.ts';

/** Divides long work of one request into turns, between which the process serves other requests. */
export class Turn {
  readonly #parts: Pick<BrokerParts, 'monotonicNow' | 'soon'>;
  #until: number;

  constructor(parts: Pick<BrokerParts, 'monotonicNow' | 'soon'>) {
    this.#parts = parts;
    this.#until = parts.monotonicNow() + BUDGETS.turnMs;
  }

  /** Whether other requests should have a turn now. */
  get isOver(): boolean {
    return this.#parts.monotonicNow() > this.#until;
  }

  /** Waits for the next turn. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#parts.soon(resolve);
    });
    this.#until = this.#parts.monotonicNow() + BUDGETS.turnMs;
  }
}
