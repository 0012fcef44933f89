/**
 * Work that must be done but that no response waits for. A server continues it after the response; a Lambda
 * function, which is frozen after its response, first awaits `settled`.
 */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #report: (error: unknown) => void;

  constructor(report: (error: unknown) => void = () => {}) {
    this.#report = report;
  }

  /** Starts work. A failure is reported, and the sweep does the work later. */
  add(work: () => Promise<void>): void {
    const run = work().catch(this.#report);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Resolves when no work is left. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
