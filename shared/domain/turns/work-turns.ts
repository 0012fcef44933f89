import { BUDGETS } from '../budgets/budgets.ts';
import type { Scheduler } from '../scheduler.ts';
import { RoundRobin } from './round-robin.ts';
import { TurnTime } from './turn-time.ts';

/** How many pieces of work begin in one turn of the event loop at most, however short they are. */
const WORKS_MAX = 8;
/** Entries that are handled before other work may have its turn. */
const ENTRIES_PER_TURN = 20;

/**
 * Shares the time of a process among peers whose work takes long, such as the parsing of large requests. All
 * this work together has `BUDGETS.turnMs` in each turn of the event loop, so that other work continues in
 * between. Peers take turns, however much work each of them has. A peer whose turn it is may use the whole
 * time, so that it is not at a disadvantage if its steps are small.
 */
export class WorkTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #time: TurnTime;
  readonly #waiting = new RoundRobin<() => void>();
  #isInTurn = false;
  /** The peer whose work is running, and since when, monotonic ms. */
  #current: { readonly peer: object; readonly since: number } | undefined;

  constructor(scheduler: Pick<Scheduler, 'now' | 'soon'>) {
    this.#scheduler = scheduler;
    this.#time = new TurnTime(() => scheduler.now(), BUDGETS.turnMs);
  }

  /**
   * Resolves when the caller may begin or continue its work. Its time is measured until the caller's next
   * `await`. `peer` = the same object for all steps of one request, operation or connection; without it the step
   * counts as that of a peer of its own.
   */
  async next(peer: object = {}): Promise<void> {
    if (peer === this.#current?.peer && !this.#time.isUsedUp(this.#current.since)) return;
    await new Promise<void>((resolve) => {
      this.#waiting.add(peer, resolve);
      this.#begin();
    });
  }

  #begin(): void {
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    this.#time.begin();
    // These calls follow each other directly: between two of them only the work that the first resumed runs.
    const works = this.#time.isUsedUp() ? 0 : WORKS_MAX;
    for (let i = 0; i < works; i++) this.#scheduler.soon(() => this.#letGo());
    this.#scheduler.soon(() => this.#end());
  }

  #letGo(): void {
    this.#endWork();
    const next = this.#time.isUsedUp() ? undefined : this.#waiting.next();
    if (next === undefined) return;
    this.#current = { peer: next.peer, since: this.#time.now };
    next.waiting();
  }

  #endWork(): void {
    if (this.#current === undefined) return;
    this.#time.count(this.#current.since);
    this.#current = undefined;
  }

  #end(): void {
    this.#endWork();
    this.#isInTurn = false;
    if (this.#time.end() || !this.#waiting.isEmpty) this.#begin();
  }
}

/** Calls `work` for each entry of a list that may be very long, and lets other peers work in between. */
export async function forEachInTurns<T>(
  workTurns: Pick<WorkTurns, 'next'>,
  peer: object,
  list: Iterable<T>,
  work: (entry: T) => void,
): Promise<void> {
  let before = ENTRIES_PER_TURN;
  for (const entry of list) {
    if (before-- === 0) {
      before = ENTRIES_PER_TURN - 1;
      await workTurns.next(peer);
    }
    work(entry);
  }
}
