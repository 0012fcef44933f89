/** Calls that wait for messages as long as the client likes; nothing is lost where they end. */
const WAITS: ReadonlySet<string> = new Set(['receive', 'acceptSession']);

/** Counts the calls of a broker that are under way, but for those that wait. */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>();

  get count(): number {
    return this.#calls.size;
  }

  /** The same broker, whose calls are counted. */
  of<Target extends object>(broker: Target): Target {
    return new Proxy(broker, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function' || WAITS.has(String(name))) return member;
        return (...values: unknown[]) => this.#add(member.apply(target, values));
      },
    });
  }

  /** Resolves when those that are under way now have ended, however they end. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }

  async #add<Outcome>(call: Promise<Outcome>): Promise<Outcome> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }
}
