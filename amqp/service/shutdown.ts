/** Whether the service is about to stop, and who wants to hear of it. */
export class Shutdown {
  readonly #listeners = new Set<() => void>();
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(): void {
    this.#hasBegun = true;
    for (const listener of this.#listeners) listener();
  }

  /** Has a listener called when it begins, or at once where it has; returns how to stop listening. */
  onBegin(listener: () => void): () => void {
    if (this.#hasBegun) listener();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
