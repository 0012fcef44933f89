/**
 * Peers that wait for time of the process, in the order of how much of it they have used: one that comes
 * back after little is ahead of all that had more, and one that had much lets them go first.
 */
export class FairLine<Waiting> {
  /** So much ahead of others nobody is, ms: what a peer used beyond it is forgiven. */
  readonly #aheadMax: number;
  /** Peers that are in the line, with all that each waits for. */
  readonly #waiting = new Map<object, Waiting[]>();
  /** The same peers by what they had used when they came, in slots of a millisecond. */
  readonly #slots = new Map<number, object[]>();
  /** What a peer has used, ms; one that is not here has used as much as those that are served now. */
  readonly #used = new WeakMap<object, number>();
  /** The slot of those that are served now. */
  #slot = 0;

  constructor(aheadMax: number) {
    this.#aheadMax = aheadMax;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(peer: object, waiting: Waiting): void {
    const own = this.#waiting.get(peer);
    if (own === undefined) {
      this.#waiting.set(peer, [waiting]);
      this.#place(peer);
    } else own.push(waiting);
  }

  /** Takes what the peer waits for that has used least; undefined = nobody waits. */
  next(): { readonly peer: object; readonly waiting: Waiting } | undefined {
    if (this.isEmpty) return undefined;
    let peers = this.#slots.get(this.#slot);
    while (peers === undefined) {
      this.#slot++;
      peers = this.#slots.get(this.#slot);
    }
    const peer = peers.shift() as object;
    if (peers.length === 0) this.#slots.delete(this.#slot);
    const own = this.#waiting.get(peer) as Waiting[];
    const waiting = own.shift() as Waiting;
    if (own.length === 0) this.#waiting.delete(peer);
    else this.#place(peer);
    return { peer, waiting };
  }

  /** Counts what a peer has used; it has its place by it the next time that it is put into the line. */
  use(peer: object, ms: number): void {
    const used = Math.max(this.#used.get(peer) ?? 0, this.#slot) + ms;
    this.#used.set(peer, Math.min(used, this.#slot + this.#aheadMax));
  }

  #place(peer: object): void {
    const slot = Math.max(Math.floor(this.#used.get(peer) ?? 0), this.#slot);
    const peers = this.#slots.get(slot);
    if (peers === undefined) this.#slots.set(slot, [peer]);
    else peers.push(peer);
  }
}
