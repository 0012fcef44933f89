import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';

const { settlementsAtOnce: CONCURRENT_MAX } = BUDGETS.connection;

/** Outcomes of so many deliveries that are to be carried out. */
interface QueuedWork {
  readonly deliveries: number;
  readonly start: () => void;
}

/**
 * What the links of one connection are settling. There are clients that settle a message without
 * hearing the outcome, and ask `$management` for it next: requests wait for what was said before.
 */
export class Settlements {
  readonly #underWay = new Map<string, Set<Promise<void>>>();
  /** Deliveries whose outcomes are carried out. */
  #running = 0;
  readonly #waiting = new Set<QueuedWork>();

  add({ key }: EntityPath, settlement: Promise<void>): void {
    const ofEntity = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, ofEntity.add(settlement));
    void settlement.then(() => {
      ofEntity.delete(settlement);
      if (ofEntity.size === 0) this.#underWay.delete(key);
    });
  }

  /** Carries out the outcomes of so many deliveries once no more than enough others are. */
  async runLimited(deliveries: number, work: () => Promise<void>): Promise<void> {
    await new Promise<void>((start) => {
      this.#waiting.add({ deliveries, start });
      this.#startQueued();
    });
    try {
      await work();
    } finally {
      this.#running -= deliveries;
      this.#startQueued();
    }
  }

  #startQueued(): void {
    for (const waiting of this.#waiting) {
      if (this.#running >= CONCURRENT_MAX) return;
      this.#waiting.delete(waiting);
      this.#running += waiting.deliveries;
      waiting.start();
    }
  }

  /** Resolves once all that are under way now have their outcome. */
  async settled({ key }: EntityPath): Promise<void> {
    await Promise.all(this.#underWay.get(key) ?? []);
  }
}
