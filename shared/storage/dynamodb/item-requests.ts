import { type Item, type ItemKey, keyItem, type Table } from './table.ts';

/**
 * Requests for single items, without conditions. Those of calls that arrive together may share a request to the
 * database; each costs the same units as alone. Only for writes that do no harm if they are carried out late.
 */
export interface ItemRequests {
  /** Reads an item, consistently: the read begins after the call. */
  get(key: ItemKey): Promise<Item | undefined>;
  /** Writes an item that has no attributes but its key. */
  putKey(key: ItemKey): Promise<void>;
  /** Deletes an item, at once or a moment later with others; only for work that no client waits for. */
  delete(key: ItemKey): Promise<void>;
}

/** Sends each request alone. */
export function singleRequests(table: Table): ItemRequests {
  return {
    get: (key) => table.get(key, { consistent: true }),
    putKey: async (key) => {
      await table.put(keyItem(key));
    },
    delete: async (key) => {
      await table.delete(key);
    },
  };
}
