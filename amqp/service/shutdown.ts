/** The state of a shutdown, and its listeners. */
export class Shutdown {
  readonly #listeners = new Set<() => void>();
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Begins the shutdown and calls all listeners. */
  begin(): void {
    this.#hasBegun = true;
    for (const listener of this.#listeners) listener();
  }

  /** Calls a listener when the shutdown begins, or now if it has. Returns a function that removes it. */
  onBegin(listener: () => void): () => void {
    if (this.#hasBegun) listener();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
