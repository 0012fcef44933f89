import type { AgeClock, Instant } from '../../domain/age.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';

const ENTITIES_MAX = 20_000;
/** How long a partition that refused is skipped, ms. */
const AVOIDED_MS = 2000;

/**
 * Selects partitions for messages without a key: one after the other (semantics #P7), from a random start, so that
 * processes that live for one call spread their messages too.
 */
export class PartitionSelector {
  readonly #random: RandomSource;
  readonly #ages: AgeClock;
  readonly #last = new BoundedMap<string, number>(ENTITIES_MAX);
  /** When each partition last refused. */
  readonly #avoided = new BoundedMap<string, Instant>(ENTITIES_MAX);

  constructor(random: RandomSource, ages: AgeClock) {
    this.#random = random;
    this.#ages = ages;
  }

  /** The next partition that has not refused recently; the next one if all have. */
  next(entity: Entity): number {
    const partitions = partitionsOf(entity);
    const last = this.#last.get(entity.id) ?? this.#random.bytes(1)[0] ?? 0;
    let partition = (last + 1) % partitions;
    for (let passed = 0; passed < partitions && this.#isAvoided(entity, partition); passed++) {
      partition = (partition + 1) % partitions;
    }
    this.#last.set(entity.id, partition);
    return partition;
  }

  /** Notes that a partition refused. */
  avoid(entity: Entity, partition: number): void {
    this.#avoided.set(nameOf(entity, partition), this.#ages.now());
  }

  #isAvoided(entity: Entity, partition: number): boolean {
    const name = nameOf(entity, partition);
    const refusedAt = this.#avoided.get(name);
    if (refusedAt === undefined) return false;
    if (this.#ages.since(refusedAt) < AVOIDED_MS) return true;
    this.#avoided.delete(name);
    return false;
  }
}

function nameOf({ id }: Entity, partition: number): string {
  return `${id}.${partition}`;
}
