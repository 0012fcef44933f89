import { BUDGETS } from './budgets.ts';

/**
 * Accounts for the memory that a process holds for its peers, in bytes. There is one limit for all authorized
 * peers together, one for all unauthorized peers, and one for each peer, so that unauthorized peers, however
 * many, never take memory from authorized ones. When a pool is full, its largest holder is evicted, so that a
 * peer is not refused because another one hoards memory. Pinned peers are not evicted; the others keep a
 * share of their own, however much the pinned ones hold.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #authorized: Pool;
  readonly #unauthorized: Pool;

  /** `limit` = bytes for all authorized peers; unauthorized ones have a fraction of it in addition. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#authorized = new Pool(limit);
    this.#unauthorized = new Pool(limit * BUDGETS.process.heldShareUnauthorized);
  }

  /** Bytes that all peers hold. */
  get held(): number {
    return this.#authorized.held + this.#unauthorized.held;
  }

  /** Bytes that all authorized peers may hold. */
  get limit(): number {
    return this.#limit;
  }

  /** Bytes that authorized peers may hold in addition to what they hold now. */
  get free(): number {
    return Math.max(0, this.#limit - this.#authorized.held);
  }

  /**
   * Opens the share of an authorized peer, of at most `limit` bytes. `evict` ends the peer's connection or
   * request. It is called after the share is closed, when this peer holds the most and another needs memory.
   */
  open(limit: number, evict: () => void): MemoryShare {
    return new MemoryShare(limit, evict, this.#authorized);
  }

  /** Opens the share of an unauthorized peer, as `open` does. */
  openUnauthorized(limit: number, evict: () => void): MemoryShare {
    return new MemoryShare(limit, evict, this.#unauthorized, this.#authorized);
  }
}

/** The shares that compete for the same memory. */
class Pool {
  readonly #limit: number;
  readonly #holders = new Set<MemoryShare>();
  #held = 0;
  /** The part of `#held` that pinned shares hold. */
  #pinned = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** Records that a share now holds `held` bytes, without a check of the limit. */
  note(share: MemoryShare, held: number): void {
    this.#held += held - share.held;
    if (share.isPinned) this.#pinned += held - share.held;
    if (held === 0) this.#holders.delete(share);
    else this.#holders.add(share);
  }

  /** Records that a share is now pinned. */
  pin(share: MemoryShare): void {
    this.#pinned += share.held;
  }

  /**
   * Makes room for `bytes` more of `share`: evicts the largest peers as long as they hold more than `share`
   * would. Returns false if there is no room. A pinned share evicts no peer while the unpinned ones hold no
   * more than their own part.
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

/** The memory that a process holds for one peer. */
export class MemoryShare {
  readonly #evict: () => void;
  readonly #authorized: Pool;
  #pool: Pool;
  #limit: number;
  #held = 0;
  #isClosed = false;
  #isPinned = false;

  /** `authorized` = the pool of the share once the peer is authorized. */
  constructor(limit: number, evict: () => void, pool: Pool, authorized = pool) {
    this.#limit = limit;
    this.#evict = evict;
    this.#pool = pool;
    this.#authorized = authorized;
  }

  /** Bytes that this peer holds. */
  get held(): number {
    return this.#held;
  }

  /** Whether this peer is exempt from eviction. */
  get isPinned(): boolean {
    return this.#isPinned;
  }

  /** Exempts this peer from eviction, since its request is being carried out. */
  pin(): void {
    if (this.#isPinned) return;
    this.#isPinned = true;
    this.#pool.pin(this);
  }

  /**
   * Moves the share of a peer that is now authorized to the authorized pool, with a limit of `limit` bytes.
   */
  authorize(limit: number): void {
    const held = this.#held;
    this.#set(0);
    this.#pool = this.#authorized;
    this.#limit = limit;
    this.#set(held);
  }

  /**
   * Reserves `bytes` more. Returns false, and reserves nothing, if that exceeds the limit of the peer or of
   * the process, or if the share is closed.
   */
  hold(bytes: number): boolean {
    if (this.#isClosed || this.#held + bytes > this.#limit) return false;
    if (bytes > 0 && !this.#pool.makeRoom(this, bytes)) return false;
    this.#set(this.#held + bytes);
    return true;
  }

  /** Reserves `bytes` more regardless of the limits. If there is no room, larger peers are evicted. */
  holdAnyway(bytes: number): void {
    if (this.#isClosed) return;
    this.#pool.makeRoom(this, bytes);
    this.#set(this.#held + bytes);
  }

  /** Releases bytes, at most those that are held. Does nothing once the share is closed. */
  release(bytes: number): void {
    if (!this.#isClosed) this.#set(this.#held - Math.min(Math.max(0, bytes), this.#held));
  }

  /** Releases everything. Further reservations fail. */
  close(): void {
    this.#set(0);
    this.#isClosed = true;
  }

  /**
   * Closes the share of a peer that is gone, and opens a share of `bytes` in the same pool for what remains
   * of it in memory. `evict` as for `MemoryBudget.open`.
   */
  leave(bytes: number, evict: () => void): MemoryShare {
    this.close();
    const rest = new MemoryShare(bytes, evict, this.#pool);
    rest.#set(bytes);
    return rest;
  }

  /** Closes the share and ends the peer, to make room for others. */
  evict(): void {
    this.close();
    this.#evict();
  }

  #set(held: number): void {
    this.#pool.note(this, held);
    this.#held = held;
  }
}
