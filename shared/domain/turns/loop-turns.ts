import { BUDGETS } from '../budgets/budgets.ts';
import type { Scheduler } from '../scheduler.ts';
import { RoundRobin } from './round-robin.ts';
import type { TurnTime } from './turn-time.ts';

/**
 * Limits how much work begins in one turn of the event loop. It is for short pieces of work of which many
 * arrive together, and which would stall the process if all began at once. Waiting peers take turns, in the
 * order in which they asked. (`WorkTurns` is for pieces of work that take long themselves.)
 */
export class LoopTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #perTurn: number;
  readonly #time: TurnTime | undefined;
  readonly #waiting = new RoundRobin<Waiting>();
  /** The amount of work that has begun in this turn. */
  #begun = 0;
  /** Whether the end of the current turn is scheduled. */
  #isInTurn = false;

  /**
   * `perTurn` = the amount of work after which nothing more begins in a turn; `time` = the time that the work
   * of `begin` may take in each turn, absent = no limit.
   */
  constructor(scheduler: Pick<Scheduler, 'soon'>, perTurn: number, time?: TurnTime) {
    this.#scheduler = scheduler;
    this.#perTurn = perTurn;
    this.#time = time;
  }

  /**
   * Resolves when the caller may begin its work: at once unless this turn is full. Work of one peer begins in
   * order, and peers take turns; without `peer` the work counts as that of a peer of its own. `amount` = how
   * much of `perTurn` the work takes.
   */
  async next(peer: object = {}, amount = 1): Promise<void> {
    if (!this.#hasEnough) this.#count(amount);
    else await new Promise<void>((work) => this.#waiting.add(peer, { work, amount }));
  }

  /** Runs synchronous work, now or in a later turn. */
  begin(peer: object, work: () => void): void {
    const one = { work, amount: 1 };
    if (this.#hasEnough) this.#waiting.add(peer, one);
    else this.#do(one);
  }

  /** Drops all waiting work of a peer. */
  forget(peer: object): void {
    this.#waiting.forget(peer);
  }

  get #hasEnough(): boolean {
    return this.#begun >= this.#perTurn || this.#time?.isUsedUp() === true;
  }

  #do({ work, amount }: Waiting): void {
    this.#count(amount);
    const since = this.#time?.now;
    work();
    if (since !== undefined) this.#time?.count(since);
  }

  #count(amount: number): void {
    this.#begun += amount;
    this.#begin();
  }

  #begin(): void {
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    this.#time?.begin();
    this.#scheduler.soon(() => this.#end());
  }

  #end(): void {
    this.#isInTurn = false;
    this.#begun = 0;
    const owesTime = this.#time?.end() === true;
    while (!this.#hasEnough) {
      const next = this.#waiting.next();
      if (next === undefined) break;
      this.#do(next.waiting);
    }
    if (owesTime) this.#begin();
  }
}

interface Waiting {
  readonly work: () => void;
  readonly amount: number;
}

/**
 * Calls `work` for the entries of a list that may be long, and returns the results in the order of the list.
 * Each call waits for its turn, and at most `BUDGETS.turnRequests` calls run at a time. A list waits for one
 * turn after the other, so that concurrent lists alternate, however long they are. After a call has failed,
 * no further call begins. Waits for all running calls before it returns or throws the first error in list order.
 */
export async function mapInTurns<Entry, Answer>(
  turns: Pick<LoopTurns, 'next'>,
  list: readonly Entry[],
  work: (entry: Entry) => Promise<Answer>,
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
    if (hasFailed) break;
    begin(entry);
  }
  await Promise.all(underWay);
  return await Promise.all(answers);
}
