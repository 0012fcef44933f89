import { isDeepStrictEqual } from 'node:util';
import type { DocumentTable, DocumentWrite } from './documents.ts';

export interface EntityChangesSettings {
  readonly table: DocumentTable;
  /** Forgets what this process remembers of an entity, by its key. */
  readonly forget: (key: string) => void;
  /** Until no process can hold an older entity; at once where this is the only process. */
  readonly outlastCaches: () => Promise<void>;
}

/** Makes changes of entities and of rules, so that an answered change holds for every process. */
export class EntityChanges {
  readonly #settings: EntityChangesSettings;

  constructor(settings: EntityChangesSettings) {
    this.#settings = settings;
  }

  /**
   * Makes a change, and waits until no process remembers what was before, unless the change was refused.
   * Also where nothing was heard of it: a client that asks again, and hears that it is done, counts on it.
   */
  async madeKnown(key: string, change: () => Promise<boolean>): Promise<boolean> {
    let isRefused = false;
    try {
      isRefused = !(await change());
      return !isRefused;
    } finally {
      this.#settings.forget(key);
      if (!isRefused) await this.#settings.outlastCaches();
    }
  }

  /**
   * Whether writes were carried out. Where they were refused after a try of which nothing was heard, that
   * try may have made the change: `isThere` looks.
   */
  async made(writes: readonly DocumentWrite[], isThere: () => Promise<boolean>): Promise<boolean> {
    const { refused, isRepeated } = await this.#settings.table.transact(writes);
    return refused.length === 0 || (isRepeated && (await isThere()));
  }
}

/** Whether two descriptions are the same; what is not set is not stored. */
export function isSame(stored: unknown, expected: object): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(expected)));
}
