import { BUDGETS } from './budgets.ts';
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

/**
 * Does work on the entries of a list, which may be long, and answers in the list's order. Each begins in a
 * turn, and only so many are under way at a time. The list waits for one turn after the other, so that many
 * lists have theirs by turns, however long each is. None is begun after one has failed, or once `isEnough`:
 * the answers are then fewer than the entries. Ends when nothing is under way any more.
 */
export async function allInTurns<Entry, Answer>(
  turns: Pick<LoopTurns, 'next'>,
  list: readonly Entry[],
  work: (entry: Entry) => Promise<Answer>,
  isEnough = () => false,
): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const underWay = new Set<Promise<void>>();
  let hasFailed = false;
  const begin = (entry: Entry) => {
    const answer = work(entry);
    answers.push(answer);
    const over = answer
      .catch(() => {
        hasFailed = true;
      })
      .then(() => void underWay.delete(over));
    underWay.add(over);
  };
  for (const entry of list) {
    if (underWay.size >= BUDGETS.turnRequests) await Promise.race(underWay);
    await turns.next();
    if (hasFailed || isEnough()) break;
    begin(entry);
  }
  await Promise.all(underWay);
  return await Promise.all(answers);
}
