import { BUDGETS } from './budgets.ts';

/**
 * The bytes that a process holds for its peers: one limit for all together that have proved a right, one
 * for all that have not, and one for each peer. So strangers, however many, never cost anybody with a
 * right a byte. Where there is no room left, the peer of the same kind that holds the most makes room, so
 * that what one hoards is not the reason why another one is refused. What is pinned makes none; the others
 * have a part beside it, however much that is.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #proved: Pool;
  readonly #beforeRight: Pool;

  /** `limit` = bytes for all peers together that have proved a right; the others have a part of it beside. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#proved = new Pool(limit);
    this.#beforeRight = new Pool(limit * BUDGETS.process.heldShareBeforeRight);
  }

  /** Bytes that all peers together hold. */
  get held(): number {
    return this.#proved.held + this.#beforeRight.held;
  }

  /** Bytes that all peers with a right may hold together. */
  get limit(): number {
    return this.#limit;
  }

  /** Bytes that all peers with a right may still hold together. */
  get free(): number {
    return Math.max(0, this.#limit - this.#proved.held);
  }

  /**
   * Opens the share of one peer that has proved a right, of at most `limit` bytes. `evict` ends the peer's
   * connection or request: it is called, with the share closed, when this peer holds the most and another
   * needs room.
   */
  open(limit: number, evict: () => void): MemoryShare {
    return new MemoryShare(limit, evict, this.#proved);
  }

  /** The same for one that has proved none. */
  openBeforeRight(limit: number, evict: () => void): MemoryShare {
    return new MemoryShare(limit, evict, this.#beforeRight, this.#proved);
  }
}

/** The shares that compete for the same bytes. */
class Pool {
  readonly #limit: number;
  readonly #holders = new Set<MemoryShare>();
  #held = 0;
  /** What of it is pinned. */
  #pinned = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** Notes that a share holds so many bytes from now on, however many all hold. */
  note(share: MemoryShare, held: number): void {
    this.#held += held - share.held;
    if (share.isPinned) this.#pinned += held - share.held;
    if (held === 0) this.#holders.delete(share);
    else this.#holders.add(share);
  }

  /** Notes that a share is pinned from now on. */
  pin(share: MemoryShare): void {
    this.#pinned += share.held;
  }

  /**
   * Ends peers that hold more than `share` then would until there is room for `bytes`; false = there is none.
   * For what is pinned nobody is ended where the others have no more than their part.
   */
  makeRoom(share: MemoryShare, bytes: number): boolean {
    const part = this.#limit * BUDGETS.process.heldShareBesidePinned;
    const limit = share.isPinned ? this.#limit : Math.max(this.#limit, this.#pinned + part);
    while (this.#held + bytes > limit) {
      if (share.isPinned && this.#held - this.#pinned <= part) return false;
      const largest = this.#largest();
      if (largest === undefined || largest.held <= share.held + bytes) return false;
      largest.evict();
    }
    return true;
  }

  #largest(): MemoryShare | undefined {
    let largest: MemoryShare | undefined;
    for (const share of this.#holders) {
      if (share.isPinned) continue;
      if (largest === undefined || share.held > largest.held) largest = share;
    }
    return largest;
  }
}

/** What one peer holds of a process's memory. */
export class MemoryShare {
  readonly #evict: () => void;
  readonly #afterRight: Pool;
  #pool: Pool;
  #limit: number;
  #held = 0;
  #isClosed = false;
  #isPinned = false;

  /** `afterRight` = where it counts once the peer has proved a right. */
  constructor(limit: number, evict: () => void, pool: Pool, afterRight = pool) {
    this.#limit = limit;
    this.#evict = evict;
    this.#pool = pool;
    this.#afterRight = afterRight;
  }

  /** Bytes that this peer holds. */
  get held(): number {
    return this.#held;
  }

  /** Whether this peer is never ended to make room for others. */
  get isPinned(): boolean {
    return this.#isPinned;
  }

  /** From now on this peer is not ended to make room: what it asked for is under way. */
  pin(): void {
    if (this.#isPinned) return;
    this.#isPinned = true;
    this.#pool.pin(this);
  }

  /** The peer has proved a right: from now on it may hold so many bytes, of those for peers with rights. */
  prove(limit: number): void {
    const held = this.#held;
    this.#set(0);
    this.#pool = this.#afterRight;
    this.#limit = limit;
    this.#set(held);
  }

  /**
   * Holds so many bytes more. False, with nothing held, where that is more than the peer may hold, or
   * more than the process has room for, or where the share is closed.
   */
  hold(bytes: number): boolean {
    if (this.#isClosed || this.#held + bytes > this.#limit) return false;
    if (bytes > 0 && !this.#pool.makeRoom(this, bytes)) return false;
    this.#set(this.#held + bytes);
    return true;
  }

  /** Holds so many bytes more, whatever the limits; where there is no room, others make it if they hold more. */
  holdAnyway(bytes: number): void {
    if (this.#isClosed) return;
    this.#pool.makeRoom(this, bytes);
    this.#set(this.#held + bytes);
  }

  /** Gives bytes back, never more than are held; nothing once the share is closed. */
  release(bytes: number): void {
    if (!this.#isClosed) this.#set(this.#held - Math.min(Math.max(0, bytes), this.#held));
  }

  /** Gives everything back. Nothing can be held any more. */
  close(): void {
    this.#set(0);
    this.#isClosed = true;
  }

  /**
   * Closes the share of a peer that is gone, and opens one of so many bytes for what is left of it, which
   * counts where the share did. `evict` as for `MemoryBudget.open`.
   */
  leave(bytes: number, evict: () => void): MemoryShare {
    this.close();
    const rest = new MemoryShare(bytes, evict, this.#pool);
    rest.#set(bytes);
    return rest;
  }

  /** Ends the peer, to make room for others. */
  evict(): void {
    this.close();
    this.#evict();
  }

  #set(held: number): void {
    this.#pool.note(this, held);
    this.#held = held;
  }
}
