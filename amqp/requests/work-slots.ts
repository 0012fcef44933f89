import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

/**
 * How much the database is asked for one connection at the same time, where its peer decides how much that
 * would be: by requests, and by links to sessions. What is more waits, in order; other connections' work
 * does not wait for it.
 */
export class WorkSlots {
  #free = BUDGETS.connection.worksAtOnce;
  readonly #waiting: (() => void)[] = [];

  /** Does the work once there is a slot. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const slot = this.slot();
    try {
      await slot.take();
      return await work();
    } finally {
      slot.release();
    }
  }

  /** A slot that is not taken yet. */
  slot(): WorkSlot {
    return new WorkSlot(
      () => this.#take(),
      () => this.#release(),
    );
  }

  async #take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((goOn) => this.#waiting.push(goOn));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

/** For one work that may wait for something in between, and has no slot meanwhile. */
export class WorkSlot {
  readonly #take: () => Promise<void>;
  readonly #release: () => void;
  #isTaken = false;

  constructor(take: () => Promise<void>, release: () => void) {
    this.#take = take;
    this.#release = release;
  }

  /** Waits for a slot. */
  async take(): Promise<void> {
    await this.#take();
    this.#isTaken = true;
  }

  /** Gives the slot back where it was taken. */
  release(): void {
    if (this.#isTaken) this.#release();
    this.#isTaken = false;
  }
}
