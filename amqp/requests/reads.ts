import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';

const { bytes: BYTES_MAX, heldPerByte, shareOfProcess } = BUDGETS.connection.reads;

/**
 * The requests of one connection that read messages. How much that is shows only once it is read, so
 * what it may be is counted before, until it is answered. What would be too much at a time waits for
 * its turn.
 */
export class Reads {
  readonly #memory: MemoryBudget;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  /** What those that have begun may read. */
  #bytes = 0;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** Reads up to so many bytes of messages. Throws ServiceBusy where the process has no room for them. */
  async run<Result>(bytesMax: number, read: () => Promise<Result>): Promise<Result> {
    const bytes = Math.min(bytesMax, BYTES_MAX);
    await this.#waitForTurn(bytes);
    const memory = this.#memory;
    const share = memory.open(memory.limit, () => {});
    // What is under way is not ended: messages may be locked, or gone, already.
    share.pin();
    try {
      const held = Math.min(bytesMax * heldPerByte, memory.limit * shareOfProcess);
      if (!share.hold(held)) throw busy();
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

function busy(): BrokerError {
  return new BrokerError(
    'ServiceBusy',
    'The service is busy with as many messages as it has memory for. Wait a moment and try again.',
  );
}
