import { BUDGETS } from '../budgets/budgets.ts';
import type { Scheduler } from '../scheduler.ts';
import { PeerRounds } from './peer-rounds.ts';
import type { TurnTime } from './turn-time.ts';

/**
 * Lets so much begin in one turn of the event loop, peers one after the other in the order in which they
 * asked: for work of which much comes together, each of it short, that would stall the process if it all
 * began at once.
 */
export class LoopTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #perTurn: number;
  readonly #time: TurnTime | undefined;
  readonly #waiting = new PeerRounds<Waiting>();
  /** How much has begun in this turn. */
  #begun = 0;
  /** Whether a turn has begun that will end. */
  #isInTurn = false;

  /**
   * `perTurn` = after how much nothing more begins; `time` = what all that `begin` does has of each turn.
   */
  constructor(scheduler: Pick<Scheduler, 'soon'>, perTurn: number, time?: TurnTime) {
    this.#scheduler = scheduler;
    this.#perTurn = perTurn;
    this.#time = time;
  }

  /**
   * Resolves when it may begin: at once where this turn has not had enough. `peer` = for whom it is: those
   * of one peer begin in order, and peers by turns; absent = for somebody who asks for nothing else.
   * `amount` = how much of `perTurn` it is.
   */
  async next(peer: object = {}, amount = 1): Promise<void> {
    if (!this.#hasEnough) this.#count(amount);
    else await new Promise<void>((work) => this.#waiting.add(peer, { work, amount }));
  }

  /** The same for work that is done at once: now, or in a later turn. */
  begin(peer: object, work: () => void): void {
    const one = { work, amount: 1 };
    if (this.#hasEnough) this.#waiting.add(peer, one);
    else this.#do(one);
  }

  /** What a peer still waits for never begins. */
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
