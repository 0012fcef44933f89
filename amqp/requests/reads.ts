import { noMemoryFor } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';

const { bytes: BYTES_MAX, heldPerByte, shareOfProcess } = BUDGETS.connection.reads;

/**
 * Bounds the memory of requests of one connection that read messages. The size of messages is unknown
 * before they are read, so a request reserves the maximum until it is answered. Requests that would read
 * too much at a time wait, in order.
 */
export class Reads {
  readonly #memory: MemoryBudget;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  /** The maximum of all requests that have begun. */
  #bytes = 0;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /**
   * Runs a read of at most `bytesMax` bytes of messages. Throws ServiceBusy if the process has no memory for
   * them.
   */
  async run<Result>(bytesMax: number, read: () => Promise<Result>): Promise<Result> {
    const bytes = Math.min(bytesMax, BYTES_MAX);
    await this.#waitForTurn(bytes);
    const memory = this.#memory;
    const share = memory.open(memory.limit, () => {});
    // Not evictable: the read may have locked or deleted messages already.
    share.pin();
    try {
      const held = Math.min(bytesMax * heldPerByte, memory.limit * shareOfProcess);
      if (!share.hold(held)) throw noMemoryFor('messages');
      return await read();
    } finally {
      share.close();
      this.#end(bytes);
    }
  }

  async #waitForTurn(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#bytes + bytes <= BYTES_MAX) this.#bytes += bytes;
    else await new Promise<void>((begin) => this.#waiting.push({ bytes, begin }));
  }

  #end(bytes: number): void {
    this.#bytes -= bytes;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || this.#bytes + next.bytes > BYTES_MAX) return;
      this.#waiting.shift();
      this.#bytes += next.bytes;
      next.begin();
    }
  }
}
