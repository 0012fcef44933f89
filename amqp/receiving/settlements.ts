import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';

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
  readonly #underWay = new Map<string, Set<Promise<void>>>();
  /** What all who wait for an entity share, until another settlement is added. */
  readonly #idle = new Map<string, Promise<unknown>>();
  /** How many deliveries are being settled. */
  #running = 0;
  readonly #waiting = new Set<QueuedWork>();

  /** Adds a settlement under way for an entity. */
  add({ key }: EntityPath, settlement: Promise<void>): void {
    const ofEntity = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, ofEntity.add(settlement));
    this.#idle.delete(key);
    void settlement.then(() => {
      ofEntity.delete(settlement);
      if (ofEntity.size > 0) return;
      this.#underWay.delete(key);
      this.#idle.delete(key);
    });
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
  async whenIdle({ key }: EntityPath): Promise<void> {
    const underWay = this.#underWay.get(key);
    if (underWay === undefined) return;
    const idle = this.#idle.get(key) ?? Promise.all(underWay);
    this.#idle.set(key, idle);
    await idle;
  }
}
