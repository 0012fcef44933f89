import type { Scheduler } from './scheduler.ts';

/**
 * Lets so much begin in one turn of the event loop, in the order in which it was asked for: for work of
 * which much comes together, each of it short, that would stall the process if it all began at once.
 */
export class LoopTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #perTurn: number;
  readonly #waiting = new Set<() => void>();
  /** How much has begun in this turn. */
  #begun = 0;

  constructor(scheduler: Pick<Scheduler, 'soon'>, perTurn: number) {
    this.#scheduler = scheduler;
    this.#perTurn = perTurn;
  }

  /** Resolves when it may begin: at once where this turn has not had enough. */
  async next(): Promise<void> {
    if (this.#begun < this.#perTurn) this.#begin();
    else await new Promise<void>((goOn) => this.#waiting.add(goOn));
  }

  #begin(): void {
    if (this.#begun === 0) this.#scheduler.soon(() => this.#end());
    this.#begun++;
  }

  #end(): void {
    this.#begun = 0;
    for (const goOn of this.#waiting) {
      if (this.#begun === this.#perTurn) return;
      this.#waiting.delete(goOn);
      this.#begin();
      goOn();
    }
  }
}

/** Begins work on all entries of a list, which may be long, in turns; answers in the list's order. */
export async function allInTurns<Entry, Answer>(
  turns: Pick<LoopTurns, 'next'>,
  list: readonly Entry[],
  work: (entry: Entry) => Promise<Answer>,
): Promise<Answer[]> {
  return await Promise.all(
    list.map(async (entry) => {
      await turns.next();
      return await work(entry);
    }),
  );
}
