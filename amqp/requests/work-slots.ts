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
  async during<T>(work: () => Promise<T>): Promise<T> {
    const slot = this.slot();
    try {
      await slot.take();
      return await work();
    } finally {
      slot.giveBack();
    }
  }

  /** A slot that is not taken yet. */
  slot(): WorkSlot {
    return new WorkSlot(
      () => this.#take(),
      () => this.#giveBack(),
    );
  }

  async #take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((goOn) => this.#waiting.push(goOn));
  }

  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

/** For one work that may wait for something in between, and has no slot meanwhile. */
export class WorkSlot {
  readonly #take: () => Promise<void>;
  readonly #giveBack: () => void;
  #isTaken = false;

  constructor(take: () => Promise<void>, giveBack: () => void) {
    this.#take = take;
    this.#giveBack = giveBack;
  }

  /** Waits for a slot. */
  async take(): Promise<void> {
    await this.#take();
    this.#isTaken = true;
  }

  /** Gives the slot back where it was taken. */
  giveBack(): void {
    if (this.#isTaken) this.#giveBack();
    this.#isTaken = false;
  }
}
