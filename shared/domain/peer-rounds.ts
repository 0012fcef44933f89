/** What peers wait for. They have their turns one after the other, however much each of them waits for. */
export class PeerRounds<Waiting> {
  /** By peer; the peer whose turn is next is first. */
  readonly #waiting = new Map<object, Waiting[]>();

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
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [peer, own] = first;
    const waiting = own.shift();
    this.#waiting.delete(peer);
    // Behind all others, where there is more.
    if (own.length > 0) this.#waiting.set(peer, own);
    return waiting === undefined ? undefined : { peer, waiting };
  }
}
