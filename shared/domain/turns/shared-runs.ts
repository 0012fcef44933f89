/** A run that has begun, and the one that follows it. */
interface Running<Result> {
  /** Resolves when the run has ended, also by a failure. */
  readonly ended: Promise<void>;
  next?: Promise<Result>;
}

/**
 * Runs work of one name one after the other. Calls that come while it runs share the next run: what is under way may
 * have begun too early to see what they are after. Their number is that of the callers; nothing is kept between runs.
 */
export class SharedRuns<Result> {
  readonly #running = new Map<string, Running<Result>>();

  /** Returns what the run of this call returns, or throws what it throws. */
  run(name: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(name);
    if (running === undefined) return this.#begin(name, work);
    running.next ??= running.ended.then(() => this.run(name, work));
    return running.next;
  }

  #begin(name: string, work: () => Promise<Result>): Promise<Result> {
    const result = work();
    const end = () => {
      this.#running.delete(name);
    };
    this.#running.set(name, { ended: result.then(end, end) });
    return result;
  }
}
