import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';

/**
 * Bounds the memory of decoded messages while the deliveries of one connection are decoded and stored, in
 * groups: all groups of a connection together may take a share of the process's budget. A group that does
 * not fit is decoded again alone, and may then take more.
 */
export class DecodedBudget {
  readonly #memory: MemoryBudget;
  readonly #waiting: { readonly isAlone: boolean; readonly begin: () => void }[] = [];
  #groups = 0;
  #isExclusive = false;
  #held = 0;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /**
   * Opens the account of a group; groups wait in order. `isAlone` = the group waits until no other is open,
   * and no other opens until its account is closed.
   */
  async open(isAlone: boolean): Promise<DecodedAccount> {
    if (this.#waiting.length === 0 && this.#mayOpen(isAlone)) this.#begin(isAlone);
    else await new Promise<void>((begin) => this.#waiting.push({ isAlone, begin }));
    return new DecodedAccount(this.#memory, isAlone, {
      mayHold: (bytes) => isAlone || this.#held + bytes <= this.#limit,
      count: (bytes) => {
        this.#held += bytes;
      },
      closed: () => this.#end(),
    });
  }

  get #limit(): number {
    return this.#memory.limit * BUDGETS.delivery.decodedShareOfProcess;
  }

  #mayOpen(isAlone: boolean): boolean {
    return !this.#isExclusive && (this.#groups === 0 || !isAlone);
  }

  #begin(isAlone: boolean): void {
    this.#groups++;
    this.#isExclusive = isAlone;
  }

  #end(): void {
    this.#groups--;
    this.#isExclusive = false;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || !this.#mayOpen(next.isAlone)) return;
      this.#waiting.shift();
      this.#begin(next.isAlone);
      next.begin();
    }
  }
}

/** What an account needs of its connection's budget. */
interface DecodedAccountHost {
  readonly mayHold: (bytes: number) => boolean;
  readonly count: (bytes: number) => void;
  readonly closed: () => void;
}

/** The memory of the decoded messages of one group. */
export class DecodedAccount {
  /** Whether no other group of the connection is open. */
  readonly isAlone: boolean;
  readonly #share: MemoryShare;
  readonly #host: DecodedAccountHost;

  constructor(memory: MemoryBudget, isAlone: boolean, host: DecodedAccountHost) {
    this.isAlone = isAlone;
    this.#host = host;
    this.#share = memory.open(memory.limit, () => {});
    // Not evictable: the outcome of a write under way would be unknown.
    this.#share.pin();
  }

  /** Holds more bytes. Returns false if that exceeds the budget of the connection or the process. */
  hold(bytes: number): boolean {
    if (!this.#host.mayHold(bytes) || !this.#share.hold(bytes)) return false;
    this.#host.count(bytes);
    return true;
  }

  /** Gives bytes back. */
  release(bytes: number): void {
    this.#share.release(bytes);
    this.#host.count(-bytes);
  }

  /** Gives everything back and lets the next group open. */
  close(): void {
    this.release(this.#share.held);
    this.#host.closed();
  }
}
