/** Of how many entities something is kept. */
const KEPT_MAX = 20;

/** What somebody has written about entities, by their paths; that of the last few is kept. */
export class Kept<Value> {
  readonly #values = new Map<string, Value>();

  /** What is kept of an entity; undefined = nothing. */
  get(entity: string): Value | undefined {
    return this.#values.get(entity);
  }

  /** Keeps something of an entity, in place of what was kept before. */
  set(entity: string, value: Value): void {
    this.#values.delete(entity);
    this.#values.set(entity, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > KEPT_MAX && oldest !== undefined) this.#values.delete(oldest);
  }

  /** Keeps nothing of an entity any more. */
  delete(entity: string): void {
    this.#values.delete(entity);
  }
}
