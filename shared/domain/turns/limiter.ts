/** The work of one name. */
interface Users {
  count: number;
  readonly waiting: (() => void)[];
}

/** Bounds how much work of one name runs at a time; the rest waits in order of arrival. */
export class Limiter {
  readonly #most: number;
  readonly #users = new Map<string, Users>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` once fewer than the most of this name run. */
  async during<T>(name: string, work: () => Promise<T>): Promise<T> {
    const users = this.#users.get(name) ?? { count: 0, waiting: [] };
    this.#users.set(name, users);
    if (users.count < this.#most) users.count++;
    else await new Promise<void>((goOn) => users.waiting.push(goOn));
    try {
      return await work();
    } finally {
      const next = users.waiting.shift();
      if (next !== undefined) next();
      else if (--users.count === 0) this.#users.delete(name);
    }
  }
}
