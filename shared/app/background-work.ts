/**
 * Work that must be done but that no answer waits for. The local server goes on with it behind the
 * answer; a function, which is frozen once it has answered, settles it first.
 */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #report: (error: unknown) => void;

  constructor(report: (error: unknown) => void = () => {}) {
    this.#report = report;
  }

  /** Starts work. What fails is reported and left to the sweep. */
  add(work: () => Promise<void>): void {
    const run = work().catch(this.#report);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Resolves when nothing is left to do. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
