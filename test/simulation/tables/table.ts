import type { Item } from './attribute-values.ts';
import { Collection, type Place, type Version } from './collection.ts';

/** The attribute by which the service deletes items, epoch seconds. */
const EXPIRY = 'gc';
/** Entries of the history that are done with are dropped so many at a time. */
const DONE_MAX = 1024;

/** One table: its collections, and what they lately held. */
export class Table {
  readonly name: string;
  readonly collections = new Map<string, Collection>();
  /** Places whose items bear an instant of expiry. */
  readonly expiring = new Set<Place>();
  readonly #historyMs: number;
  /** Every write whose older version may still be seen, oldest first. */
  #history: { readonly place: Place; readonly version: Version }[] = [];
  #done = 0;

  constructor(name: string, historyMs: number) {
    this.name = name;
    this.#historyMs = historyMs;
  }

  /** What stands under a key; undefined = nothing has lately. */
  find(pk: string, sk: string): Place | undefined {
    return this.collections.get(pk)?.find(sk);
  }

  /** Writes an item, or deletes it: `item` absent. The item is not changed hereafter. */
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
    const place = collection.write(sk, version);
    if (item?.[EXPIRY]?.N !== undefined) this.expiring.add(place);
    else this.expiring.delete(place);
    this.#history.push({ place, version });
  }

  /** Whether an item bears an instant of expiry that is over. */
  static isExpired({ item }: Version, now: number): boolean {
    const seconds = item?.[EXPIRY]?.N;
    return seconds !== undefined && Number(seconds) * 1000 <= now;
  }

  /** Forgets what no read sees any more: versions replaced by `until`, epoch ms, and emptied places. */
  #forget(until: number): void {
    for (;;) {
      const oldest = this.#history[this.#done];
      if (oldest === undefined || oldest.version.at > until) break;
      this.#done++;
      const { place, version } = oldest;
      version.before = undefined;
      if (version === place.current && version.item === undefined) this.#remove(place);
    }
    if (this.#done < DONE_MAX) return;
    this.#history = this.#history.slice(this.#done);
    this.#done = 0;
  }

  #remove(place: Place): void {
    const collection = this.collections.get(place.pk);
    collection?.remove(place);
    if (collection?.places.length === 0) this.collections.delete(place.pk);
  }
}
