/** What peers wait for. They have their turns one after the other, however much each of them waits for. */
export class PeerRounds<Waiting> {
  /** By peer; the peer whose turn is next is first. */
  readonly #waiting = new Map<object, Waiting[]>();
  /** Goes on behind what was taken: a new one would pass over all of that again. */
  #round = this.#waiting.entries();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(peer: object, waiting: Waiting): void {
    const own = this.#waiting.get(peer);
    if (own === undefined) this.#waiting.set(peer, [waiting]);
    else own.push(waiting);
  }

  /** Takes what the peer whose turn it is has waited for longest; undefined = nobody waits. */
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
    // Behind all others, where there is more.
    if (own.length > 0) this.#waiting.set(peer, own);
    return { peer, waiting };
  }

  /** A peer waits for nothing any more. */
  forget(peer: object): void {
    this.#waiting.delete(peer);
  }
}
