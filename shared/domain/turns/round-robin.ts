import { addTo } from '../group-by.ts';
/** A round-robin queue: peers take turns, however many entries each of them has. */
export class RoundRobin<Waiting> {
  /** Entries by peer, in the order of turns. */
  readonly #waiting = new Map<object, Waiting[]>();
  /** Continues behind the entries that were taken; a new iterator would skip all deleted entries again. */
  #round = this.#waiting.entries();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(peer: object, waiting: Waiting): void {
    addTo(this.#waiting, peer, waiting);
  }

  /** Takes the oldest entry of the peer whose turn it is; undefined = the queue is empty. */
  next(): { readonly peer: object; readonly waiting: Waiting } | undefined {
    let next = this.#round.next();
    if (next.done) {
      this.#round = this.#waiting.entries();
      next = this.#round.next();
    }
    if (next.done) return undefined;
    const [peer, own] = next.value;
    const waiting = own.shift() as Waiting;
    this.#waiting.delete(peer);
    // A peer with further entries goes to the end.
    if (own.length > 0) this.#waiting.set(peer, own);
    return { peer, waiting };
  }

  /** Drops all entries of a peer. */
  forget(peer: object): void {
    this.#waiting.delete(peer);
  }
}
