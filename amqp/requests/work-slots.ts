import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

/**
 * Bounds the concurrent work in DynamoDB that the peer of one connection can cause by requests and by links
 * to sessions. Further work waits, in order. Other connections have slots of their own.
 */
export class WorkSlots {
  #free = BUDGETS.connection.workSlots;
  readonly #waiting: (() => void)[] = [];

  /** Runs work as soon as a slot is free. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const slot = this.slot();
    try {
      await slot.take();
      return await work();
    } finally {
      slot.release();
    }
  }

  /** Creates a slot that is not taken yet. */
  slot(): WorkSlot {
    return new WorkSlot(
      () => this.#take(),
      () => this.#release(),
    );
  }

  async #take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resume) => this.#waiting.push(resume));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

/** The slot of one operation, which can release it while it waits for an event. */
export class WorkSlot {
  readonly #take: () => Promise<void>;
  readonly #release: () => void;
  #isTaken = false;

  constructor(take: () => Promise<void>, release: () => void) {
    this.#take = take;
    this.#release = release;
  }

  /** Waits until a slot is free, and takes it. */
  async take(): Promise<void> {
    await this.#take();
    this.#isTaken = true;
  }

  /** Releases the slot if it was taken. */
  release(): void {
    if (this.#isTaken) this.#release();
    this.#isTaken = false;
  }
}
