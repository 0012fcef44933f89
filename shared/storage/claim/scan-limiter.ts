/** The scans of one log. */
interface Users {
  count: number;
  readonly waiting: (() => void)[];
}

/** Bounds how many scans read one log at a time; the others wait in order of arrival. */
export class ScanLimiter {
  readonly #most: number;
  readonly #users = new Map<string, Users>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` when one of the log's slots is free. */
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
