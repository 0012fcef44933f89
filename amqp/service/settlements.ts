import type { EntityPath } from '../../shared/domain/entity-path.ts';

/**
 * What the links of one connection are settling. There are clients that settle a message without
 * hearing the outcome, and ask `$management` for it next: requests wait for what was said before.
 */
export class Settlements {
  readonly #underWay = new Map<string, Set<Promise<void>>>();

  add({ key }: EntityPath, settlement: Promise<void>): void {
    const ofEntity = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, ofEntity.add(settlement));
    void settlement.then(() => {
      ofEntity.delete(settlement);
      if (ofEntity.size === 0) this.#underWay.delete(key);
    });
  }

  /** Resolves once all that are under way now have their outcome. */
  async before({ key }: EntityPath): Promise<void> {
    await Promise.all(this.#underWay.get(key) ?? []);
  }
}
