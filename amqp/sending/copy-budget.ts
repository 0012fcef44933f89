import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';

/**
 * What is made of the deliveries of one connection while they are read and stored, in groups: all of it is
 * no more than a part of what the process may hold. A group for which that is too little is read again
 * alone, and then may hold more.
 */
export class CopyBudget {
  readonly #memory: MemoryBudget;
  readonly #waiting: { readonly isAlone: boolean; readonly begin: () => void }[] = [];
  #groups = 0;
  #isExclusive = false;
  #held = 0;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** Opens the account of a group, in order; one alone once no other is open, and others after it. */
  async open(isAlone: boolean): Promise<CopyAccount> {
    if (this.#waiting.length === 0 && this.#mayOpen(isAlone)) this.#begin(isAlone);
    else await new Promise<void>((begin) => this.#waiting.push({ isAlone, begin }));
    return new CopyAccount(this.#memory, isAlone, {
      mayHold: (bytes) => isAlone || this.#held + bytes <= this.#limit,
      count: (bytes) => {
        this.#held += bytes;
      },
      closed: () => this.#end(),
    });
  }

  get #limit(): number {
    return this.#memory.limit * BUDGETS.delivery.copiesShareOfProcess;
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

/** What a group is to its connection. */
interface CopyAccountHost {
  readonly mayHold: (bytes: number) => boolean;
  readonly count: (bytes: number) => void;
  readonly closed: () => void;
}

/** What is made of one group. */
export class CopyAccount {
  /** Whether no other group of the connection is open. */
  readonly isAlone: boolean;
  readonly #share: MemoryShare;
  readonly #host: CopyAccountHost;

  constructor(memory: MemoryBudget, isAlone: boolean, host: CopyAccountHost) {
    this.isAlone = isAlone;
    this.#host = host;
    this.#share = memory.open(memory.limit, () => {});
    // What is under way is not ended: nobody would know whether it was done.
    this.#share.pin();
  }

  /** Holds so many bytes more; false where the connection, or the process, has no room for them. */
  hold(bytes: number): boolean {
    if (!this.#host.mayHold(bytes) || !this.#share.hold(bytes)) return false;
    this.#host.count(bytes);
    return true;
  }

  release(bytes: number): void {
    this.#share.release(bytes);
    this.#host.count(-bytes);
  }

  /** The group is done with. */
  close(): void {
    this.release(this.#share.held);
    this.#host.closed();
  }
}
