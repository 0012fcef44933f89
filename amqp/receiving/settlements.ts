import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { WorkUnderWay } from './work-under-way.ts';

const { settlementsAtOnce: CONCURRENT_MAX } = BUDGETS.connection;

/** Settlements that wait to be carried out; `deliveries` = how many. */
interface QueuedWork {
  readonly deliveries: number;
  readonly start: () => void;
}

/**
 * The settlements under way on links of one connection. Some clients settle a message without waiting for
 * the answer and request the same message over `$management` next, so requests wait for earlier settlements
 * (semantics W26).
 */
export class Settlements {
  readonly #underWay = new WorkUnderWay();
  /** How many deliveries are being settled. */
  #running = 0;
  readonly #waiting = new Set<QueuedWork>();

  /** Adds a settlement under way for an entity. */
  add(path: EntityPath, settlement: Promise<void>): void {
    this.#underWay.add(path, settlement);
  }

  /** Runs the settlement of `deliveries` deliveries as soon as fewer than the maximum are being settled. */
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

  /** Resolves once all settlements of an entity that are under way now are done. */
  async whenIdle(path: EntityPath): Promise<void> {
    await this.#underWay.whenIdle(path);
  }
}
