import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';

/** The work of one kind that is under way on one connection, by entity. */
export class WorkUnderWay {
  readonly #byEntity = new Map<string, Set<Promise<void>>>();

  /** Adds work under way for an entity. It must not fail. */
  add({ key }: EntityPath, work: Promise<void>): void {
    const ofEntity = this.#byEntity.get(key) ?? new Set();
    this.#byEntity.set(key, ofEntity.add(work));
    void work.then(() => {
      ofEntity.delete(work);
      if (ofEntity.size === 0) this.#byEntity.delete(key);
    });
  }

  /** Resolves once all work for an entity that is under way now is done. */
  async whenIdle({ key }: EntityPath): Promise<void> {
    await Promise.all(this.#byEntity.get(key) ?? []);
  }
}
