/**
 * The bytes that a process holds for its peers: one limit for all of them together, and one for each.
 * When the process has no room left, the peer that holds the most makes room, so that what one peer
 * hoards is never the reason why another one is refused.
 */
export class MemoryBudget {
  readonly #limit: number;
  /** The peers that hold something, with what ends each. */
  readonly #holders = new Map<MemoryShare, () => void>();
  #held = 0;

  /** `limit` = bytes for all peers together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that all peers together hold. */
  get held(): number {
    return this.#held;
  }

  /** Bytes that all peers together may hold. */
  get limit(): number {
    return this.#limit;
  }

  /** Bytes that all peers together may still hold. */
  get free(): number {
    return this.#limit - this.#held;
  }

  /**
   * Opens the share of one peer, of at most `limit` bytes. `evict` ends the peer's connection or
   * request: it is called, with the share closed, when this peer holds the most and another needs room.
   */
  open(limit: number, evict: () => void): MemoryShare {
    const share: MemoryShare = new MemoryShare(limit, (bytes) => this.#move(share, bytes, evict));
    return share;
  }

  /** Notes that a peer holds so many bytes more, or fewer; false where there is no room for them. */
  #move(share: MemoryShare, bytes: number, evict: () => void): boolean {
    if (bytes > 0 && !this.#makeRoom(share.held + bytes, bytes)) return false;
    this.#held += bytes;
    if (share.held + bytes === 0) this.#holders.delete(share);
    else this.#holders.set(share, evict);
    return true;
  }

  /** Ends peers that hold more than `held` until there is room for `bytes`. */
  #makeRoom(held: number, bytes: number): boolean {
    while (this.#held + bytes > this.#limit) {
      const [largest, evict] = this.#largest();
      if (largest === undefined || largest.held <= held) return false;
      largest.close();
      evict?.();
    }
    return true;
  }

  #largest(): readonly [MemoryShare, () => void] | readonly [undefined?, undefined?] {
    let largest: readonly [MemoryShare, () => void] | undefined;
    for (const entry of this.#holders) {
      if (entry[0].isPinned) continue;
      if (largest === undefined || entry[0].held > largest[0].held) largest = entry;
    }
    return largest ?? [];
  }
}

/** What one peer holds of a process's memory. */
export class MemoryShare {
  readonly #move: (bytes: number) => boolean;
  #limit: number;
  #held = 0;
  #isClosed = false;
  #isPinned = false;

  constructor(limit: number, move: (bytes: number) => boolean) {
    this.#limit = limit;
    this.#move = move;
  }

  /** Bytes that this peer holds. */
  get held(): number {
    return this.#held;
  }

  /** Bytes that this peer may hold. */
  get limit(): number {
    return this.#limit;
  }

  /** Changes what this peer may hold: more, once it has proved a right. */
  set limit(bytes: number) {
    this.#limit = bytes;
  }

  /** Whether this peer is never ended to make room for others. */
  get isPinned(): boolean {
    return this.#isPinned;
  }

  /** From now on this peer is not ended to make room: what it asked for is under way. */
  pin(): void {
    this.#isPinned = true;
  }

  /**
   * Holds so many bytes more. False, with nothing held, where that is more than the peer may hold, or
   * more than the process has room for, or where the share is closed.
   */
  hold(bytes: number): boolean {
    if (this.#isClosed || this.#held + bytes > this.#limit || !this.#move(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Gives bytes back that were held; nothing once the share is closed. */
  release(bytes: number): void {
    if (this.#isClosed) return;
    this.#move(-bytes);
    this.#held -= bytes;
  }

  /** Gives everything back. Nothing can be held any more. */
  close(): void {
    this.release(this.#held);
    this.#isClosed = true;
  }
}
