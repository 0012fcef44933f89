/**
 * A map that holds at most `max` entries, among them the `max` / 2 that were read or set last. When it is full it
 * forgets the least recently used half at once. To remove the oldest one each time would take longer the larger it is.
 */
export class BoundedMap<Key, Value extends NonNullable<unknown>> {
  readonly #max: number;
  readonly #onForget: (forgotten: Iterable<Value>) => void;
  #recent = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  /** `onForget` is called with the values that made room for others. */
  constructor(max: number, onForget: (forgotten: Iterable<Value>) => void = () => {}) {
    this.#max = max;
    this.#onForget = onForget;
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(key: Key): Value | undefined {
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older ?? this.#recent.get(key);
  }

  set(key: Key, value: Value): void {
    this.#older.delete(key);
    this.#recent.set(key, value);
    if (this.#recent.size * 2 < this.#max) return;
    this.#onForget(this.#older.values());
    this.#older = this.#recent;
    this.#recent = new Map();
  }

  delete(key: Key): void {
    this.#recent.delete(key);
    this.#older.delete(key);
  }
}
