import type { RandomSource } from '../domain/clock.ts';
import { type Entity, partitionsOf } from '../domain/entity.ts';

const ENTITIES_MAX = 20_000;
/** A partition that refused is passed over for so long. */
const AVOIDED_MS = 2000;

/**
 * Whose turn it is among the partitions of an entity, for messages without a key: one after the other
 * (semantics §8-3), from a random one on, so that processes which live for one call spread as well.
 */
export class PartitionTurns {
  readonly #random: RandomSource;
  readonly #monotonicNow: () => number;
  readonly #last = new Map<string, number>();
  /** Until when a partition is avoided, monotonic ms. */
  readonly #avoided = new Map<string, number>();

  constructor(random: RandomSource, monotonicNow: () => number) {
    this.#random = random;
    this.#monotonicNow = monotonicNow;
  }

  /** The next partition that did not refuse a moment ago; simply the next one where all did. */
  next(entity: Entity): number {
    const partitions = partitionsOf(entity);
    const last = this.#last.get(entity.id) ?? this.#random.bytes(1)[0] ?? 0;
    let turn = (last + 1) % partitions;
    for (let passed = 0; passed < partitions && this.#isAvoided(entity, turn); passed++) {
      turn = (turn + 1) % partitions;
    }
    if (this.#last.size >= ENTITIES_MAX) this.#last.clear();
    this.#last.set(entity.id, turn);
    return turn;
  }

  /** Notes that a partition refused. */
  avoid(entity: Entity, partition: number): void {
    if (this.#avoided.size >= ENTITIES_MAX) this.#avoided.clear();
    this.#avoided.set(nameOf(entity, partition), this.#monotonicNow() + AVOIDED_MS);
  }

  #isAvoided(entity: Entity, partition: number): boolean {
    const name = nameOf(entity, partition);
    const until = this.#avoided.get(name);
    if (until === undefined) return false;
    if (this.#monotonicNow() < until) return true;
    this.#avoided.delete(name);
    return false;
  }
}

function nameOf({ id }: Entity, partition: number): string {
  return `${id}.${partition}`;
}
