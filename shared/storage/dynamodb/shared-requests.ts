import type { shareCalls } from '../../broker/group-commit/share-calls.ts';
import type { Scheduler, Timer } from '../../domain/scheduler.ts';
import { type ItemRequests, singleRequests } from './item-requests.ts';
import { type Item, type ItemKey, keyItem, keyOfItem, type Table } from './table.ts';

/** As many items as one request of DynamoDB takes. */
const READS_MAX = 100;
const WRITES_MAX = 25;
/** How long a removal waits for a write that takes it along, ms. No client waits for a removal. */
const REMOVAL_MS = 50;

/**
 * Requests of calls that arrive together become one request to DynamoDB by `share`: a lone call is sent at once, and a
 * request that takes long delays no other. A failure is that of each of its calls. Removals go with the next write, or
 * together a moment later.
 */
export function sharedRequests(
  table: Table,
  scheduler: Scheduler,
  share: typeof shareCalls,
): ItemRequests {
  const single = singleRequests(table);
  const removals = new Removals(table, scheduler);
  return {
    get: share(scheduler, READS_MAX, async (all: readonly ItemKey[]) => {
      const keys = differing(all);
      const [only, second] = keys;
      if (only !== undefined && second === undefined) {
        const item = await single.get(only);
        return () => item;
      }
      const items = await table.getMany(keys, { consistent: true });
      const found = new Map<string, Item>(items.map((item) => [nameOf(keyOfItem(item)), item]));
      return (key) => found.get(nameOf(key));
    }),
    putKey: share(scheduler, WRITES_MAX, async (all: readonly ItemKey[]) => {
      await removals.writeWith(differing(all));
      return () => undefined;
    }),
    delete: (key) => removals.add(key),
  };
}

/** Each key once: DynamoDB refuses a request that names an item twice. */
function differing(keys: readonly ItemKey[]): readonly ItemKey[] {
  return [...new Map(keys.map((key) => [nameOf(key), key])).values()];
}

/** Items to delete, each with the outcome that its callers wait for. */
class Removals {
  readonly #table: Table;
  readonly #scheduler: Scheduler;
  readonly #waiting = new Map<string, { readonly key: ItemKey; readonly outcome: Outcome }>();
  #timer: Timer | undefined;

  constructor(table: Table, scheduler: Scheduler) {
    this.#table = table;
    this.#scheduler = scheduler;
  }

  /** Deletes an item with the next write, or a moment later. */
  add(key: ItemKey): Promise<void> {
    const name = nameOf(key);
    const waiting = this.#waiting.get(name) ?? { key, outcome: new Outcome() };
    this.#waiting.set(name, waiting);
    if (this.#waiting.size >= WRITES_MAX) void this.#deleteAll();
    else this.#timer ??= this.#scheduler.after(REMOVAL_MS, () => void this.#deleteAll());
    return waiting.outcome.known;
  }

  /** Writes items that have only their keys, and deletes as many as fit into the same request. */
  async writeWith(keys: readonly ItemKey[]): Promise<void> {
    const [only, second] = keys;
    const removed = this.#take(WRITES_MAX - keys.length);
    const isAlone = only !== undefined && second === undefined && removed.length === 0;
    if (isAlone) await this.#table.put(keyItem(only));
    else await this.#write(keys, removed);
  }

  async #deleteAll(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const removed = this.#take(WRITES_MAX);
    // The callers of `add` get the failure.
    await this.#write([], removed).catch(() => {});
  }

  #take(most: number): readonly { readonly key: ItemKey; readonly outcome: Outcome }[] {
    const taken = [...this.#waiting].slice(0, most);
    for (const [name] of taken) this.#waiting.delete(name);
    if (this.#waiting.size === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
    return taken.map(([, waiting]) => waiting);
  }

  async #write(
    keys: readonly ItemKey[],
    removed: readonly { readonly key: ItemKey; readonly outcome: Outcome }[],
  ): Promise<void> {
    const [only, second] = removed;
    try {
      const isOneRemoval = keys.length === 0 && only !== undefined && second === undefined;
      if (isOneRemoval) await this.#table.delete(only.key);
      else {
        const deleted = removed.map(({ key }) => key);
        await this.#table.writeMany(keys.map(keyItem), deleted);
      }
      for (const { outcome } of removed) outcome.resolve();
    } catch (error) {
      for (const { outcome } of removed) outcome.reject(error);
      throw error;
    }
  }
}

/** An outcome that is not known yet. */
class Outcome {
  resolve: () => void = () => {};
  reject: (error: unknown) => void = () => {};
  readonly known = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

function nameOf({ pk, sk }: ItemKey): string {
  return `${pk}\0${sk}`;
}
