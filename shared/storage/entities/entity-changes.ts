import { isDeepStrictEqual } from 'node:util';
import { BrokerError } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import { isUnknownOutcome } from '../dynamodb/errors.ts';
import { outcomeOf } from '../dynamodb/outcome-of.ts';

export interface EntityChangesSettings {
  readonly table: DocumentTable;
  /** Forgets what this process remembers of an entity, by its key. */
  readonly forget: (key: string) => void;
  /** Resolves once the lease of everything that any process has read by now has ended. */
  readonly leasesEnded: () => Promise<void>;
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
      isRefused = !(await this.forgotten(key, change));
      return !isRefused;
    } finally {
      if (!isRefused) await this.#settings.leasesEnded();
    }
  }

  /** Makes a change, after which this process remembers nothing of what was before; others may for a while. */
  async forgotten(key: string, change: () => Promise<boolean>): Promise<boolean> {
    try {
      return await change();
    } finally {
      this.#settings.forget(key);
    }
  }

  /**
   * Whether writes were carried out. Where nothing was heard of a try, it may have made the change: `isThere`
   * looks. Throws ServiceTimeout where that does not tell.
   */
  async made(writes: readonly DocumentWrite[], isThere: () => Promise<boolean>): Promise<boolean> {
    const written = await outcomeOf(this.#settings.table.transact(writes));
    if ('error' in written) {
      if (!isUnknownOutcome(written.error)) throw written.error;
      const looked = await outcomeOf(isThere());
      if ('error' in looked || !looked.value) throw written.error;
      return true;
    }
    const { refused, isRepeated } = written.value;
    return refused.length === 0 || (isRepeated && (await isThere()));
  }
}

/** Whether two descriptions are the same; what is not set is not stored. */
export function isSame(stored: unknown, expected: object): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(expected)));
}

/** The refusal of a change that met another one. */
export function changedMeanwhile({ name }: Entity): BrokerError {
  return new BrokerError(
    'ConflictInProgress',
    `The messaging entity '${name}' was changed by somebody else at the same time; read it and try again.`,
    { subCode: '40901' },
  );
}
