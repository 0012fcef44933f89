import { isDeepStrictEqual } from 'node:util';
import { BrokerError, isUnknownOutcome } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { resultOf } from '../../domain/result-of.ts';
import type { DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';

/** The dependencies of `EntityChanges`. */
export interface EntityChangesDependencies {
  readonly table: DocumentTable;
  /** Forgets what this process remembers of an entity, by its key. */
  readonly forget: (key: string) => void;
  /** Resolves once the lease of everything that any process has read by now has ended. */
  readonly leasesEnded: () => Promise<void>;
}

/** Makes changes of entities and of rules, so that an answered change holds for every process (semantics #120). */
export class EntityChanges {
  readonly #dependencies: EntityChangesDependencies;

  constructor(dependencies: EntityChangesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes a change and, unless it was refused, waits until no process uses the old state. Also after an unknown
   * outcome, because a client that repeats the call and gets the answer that the change is made relies on it.
   */
  async everywhere(key: string, change: () => Promise<boolean>): Promise<boolean> {
    let isRefused = false;
    try {
      isRefused = !(await this.here(key, change));
      return !isRefused;
    } finally {
      if (!isRefused) await this.#dependencies.leasesEnded();
    }
  }

  /** Makes a change and drops the old state from this process's caches; other processes may use it for a lease. */
  async here(key: string, change: () => Promise<boolean>): Promise<boolean> {
    try {
      return await change();
    } finally {
      this.#dependencies.forget(key);
    }
  }

  /**
   * Whether a transaction took effect. After an unknown outcome, `isDone` reads whether it did. Throws ServiceTimeout
   * if that fails too.
   */
  async commit(writes: readonly DocumentWrite[], isDone: () => Promise<boolean>): Promise<boolean> {
    const written = await resultOf(this.#dependencies.table.transact(writes));
    if ('error' in written) {
      if (!isUnknownOutcome(written.error)) throw written.error;
      const looked = await resultOf(isDone());
      if ('error' in looked || !looked.value) throw written.error;
      return true;
    }
    const { refused, isUncertain } = written.value;
    return refused.length === 0 || (isUncertain && (await isDone()));
  }
}

/** Whether two descriptions are equal; unset values are not stored. */
export function isSame(stored: unknown, expected: object): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(expected)));
}

/** The refusal of a change that conflicts with another one (semantics G5). */
export function changedMeanwhile({ name }: Entity): BrokerError {
  return new BrokerError(
    'ConflictInProgress',
    `The messaging entity '${name}' was changed by another client at the same time; read it and try again.`,
    { subCode: '40901' },
  );
}
