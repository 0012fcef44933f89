import { BUDGETS } from '../budgets/budgets.ts';
import type { Scheduler } from '../scheduler.ts';
import { PeerRounds } from './peer-rounds.ts';
import { TurnTime } from './turn-time.ts';

/** So many works begin in one turn of the event loop, at most, however short they are. */
const WORKS_MAX = 8;

/**
 * Divides the time of a process among requests that each take long to read: such work has a moment of each
 * turn of the event loop, so that others are served in between. Peers have their turns one after the other,
 * however much each of them asks for, and in however small steps: whoever has its turn has it for the whole
 * moment.
 */
export class WorkTurns {
  readonly #scheduler: Pick<Scheduler, 'soon'>;
  readonly #time: TurnTime;
  readonly #waiting = new PeerRounds<() => void>();
  #isInTurn = false;
  /** Whose work goes on, and since when, monotonic ms. */
  #current: { readonly peer: object; readonly since: number } | undefined;

  constructor(scheduler: Pick<Scheduler, 'now' | 'soon'>) {
    this.#scheduler = scheduler;
    this.#time = new TurnTime(() => scheduler.now(), BUDGETS.turnMs);
  }

  /**
   * Resolves when work may begin, or go on: in this turn of the event loop at the soonest. It ends where it
   * waits for something. `peer` = for whom it is: the same object for all steps of one request or operation,
   * and for all of one connection; absent = for somebody who asks for nothing else.
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
    // Called one right after the other: in between is done what the one before has let go, and nothing else.
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
