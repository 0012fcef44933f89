interface Users {
  count: number;
  readonly waiting: (() => void)[];
}

/** Lets so many at a time be at each log; the others wait, in the order in which they came. */
export class LogSlots {
  readonly #most: number;
  readonly #users = new Map<string, Users>();

  constructor(most: number) {
    this.#most = most;
  }

  async during<T>(log: string, work: () => Promise<T>): Promise<T> {
    const users = this.#users.get(log) ?? { count: 0, waiting: [] };
    this.#users.set(log, users);
    if (users.count < this.#most) users.count++;
    else await new Promise<void>((goOn) => users.waiting.push(goOn));
    try {
      return await work();
    } finally {
      const next = users.waiting.shift();
      if (next !== undefined) next();
      else if (--users.count === 0) this.#users.delete(log);
    }
  }
}
