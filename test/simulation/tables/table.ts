import type { Item } from './attribute-values.ts';
import { Collection, type ItemHistory, type Version } from './collection.ts';
import type { ItemKey } from './item-keys.ts';

/** The attribute by which the service deletes items, epoch seconds. */
const EXPIRY = 'gc';
/** The list of writes is shortened once this many of them are forgotten. */
const FORGOTTEN_MAX = 1024;

/** An item as it was written. */
export interface StreamRecord extends ItemKey {
  readonly item: Item;
  /** Whether there was none before. */
  readonly isNew: boolean;
}

/** One table: its collections, with recent versions of their items. */
export class Table {
  readonly name: string;
  readonly collections = new Map<string, Collection>();
  /** Items with an expiry time. */
  readonly expiring = new Set<ItemHistory>();
  readonly #historyMs: number;
  /** Writes whose previous versions a stale read may still show, oldest first. */
  #writes: { readonly history: ItemHistory; readonly version: Version }[] = [];
  /** How many writes at the start of the list are forgotten. */
  #forgotten = 0;

  constructor(name: string, historyMs: number) {
    this.name = name;
    this.#historyMs = historyMs;
  }

  /** Hears of every item that is written, as a stream of the table does. */
  onWrite: ((record: StreamRecord) => void) | undefined;

  /** The item under a key; undefined = there is none, and was none recently. */
  find(pk: string, sk: string): ItemHistory | undefined {
    return this.collections.get(pk)?.find(sk);
  }

  /** Writes an item, or deletes it if `item` is absent. Callers must not change the item afterwards. */
  write(pk: string, sk: string, item: Item | undefined, bytes: number, now: number): void {
    this.#forget(now - this.#historyMs);
    let collection = this.collections.get(pk);
    if (collection === undefined) {
      if (item === undefined) return;
      collection = new Collection(pk);
      this.collections.set(pk, collection);
    }
    if (item === undefined && collection.find(sk)?.current.item === undefined) return;
    const version: Version = { item, bytes, at: now, before: undefined };
    const isNew = collection.find(sk)?.current.item === undefined;
    const history = collection.write(sk, version);
    if (item !== undefined) this.onWrite?.({ pk, sk, item, isNew });
    if (item?.[EXPIRY]?.N !== undefined) this.expiring.add(history);
    else this.expiring.delete(history);
    this.#writes.push({ history, version });
  }

  /** Whether an item has expired. */
  static isExpired({ item }: Version, now: number): boolean {
    const seconds = item?.[EXPIRY]?.N;
    return seconds !== undefined && Number(seconds) * 1000 <= now;
  }

  /** Drops versions that no read can show any more: those replaced or deleted by `until`, epoch ms. */
  #forget(until: number): void {
    for (;;) {
      const oldest = this.#writes[this.#forgotten];
      if (oldest === undefined || oldest.version.at > until) break;
      this.#forgotten++;
      const { history, version } = oldest;
      version.before = undefined;
      if (version === history.current && version.item === undefined) this.#remove(history);
    }
    if (this.#forgotten < FORGOTTEN_MAX) return;
    this.#writes = this.#writes.slice(this.#forgotten);
    this.#forgotten = 0;
  }

  #remove(history: ItemHistory): void {
    const collection = this.collections.get(history.pk);
    collection?.remove(history);
    if (collection?.histories.length === 0) this.collections.delete(history.pk);
  }
}
