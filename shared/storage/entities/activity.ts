import type { Activity } from '../../broker/ports/entities.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';

/** The dependencies of `DynamoActivity`. */
export interface ActivitySettings {
  readonly clock: Clock;
  /** Stores that an entity was used, unless it is gone. */
  readonly touch: (entity: Entity, now: number) => Promise<void>;
  readonly background: (work: () => Promise<void>) => void;
}

/** The shortest time between two stored uses of an entity, so that messages cost nothing more. */
export const TOUCH_EVERY_MS = 60_000;
const ENTITIES_MAX = 20_000;

interface Uses {
  readonly usedAt: number;
  readonly touchedAt: number;
}

/**
 * Remembers uses of entities with AutoDeleteOnIdle, and stores them now and then. Sends are not stored here, because
 * the partition's header has the time of the last send.
 */
export class DynamoActivity implements Activity {
  readonly #settings: ActivitySettings;
  readonly #uses = new BoundedMap<string, Uses>(ENTITIES_MAX);

  constructor(settings: ActivitySettings) {
    this.#settings = settings;
  }

  used(entity: Entity): void {
    const { clock, background } = this.#settings;
    const now = clock.now();
    const touchedAt = this.#uses.get(entity.id)?.touchedAt ?? entity.accessedAt ?? 0;
    // With a clock that was set back, the age of the stored use is unknown.
    const isLongAgo = now < touchedAt || now - touchedAt >= TOUCH_EVERY_MS;
    const isDue = entity.description.autoDeleteOnIdleMs !== undefined && isLongAgo;
    this.#uses.set(entity.id, { usedAt: now, touchedAt: isDue ? now : touchedAt });
    if (isDue) background(() => this.#store(entity, now, touchedAt));
  }

  /** Stores a use. If that fails, the next use is stored at once. `before` = the last use that was stored, epoch ms. */
  async #store(entity: Entity, now: number, before: number): Promise<void> {
    try {
      await this.#settings.touch(entity, now);
    } catch (error) {
      const { usedAt = now } = this.#uses.get(entity.id) ?? {};
      this.#uses.set(entity.id, { usedAt, touchedAt: before });
      throw error;
    }
  }

  /** The last use that this process saw, epoch ms. */
  usedAt(entity: Entity): number | undefined {
    return this.#uses.get(entity.id)?.usedAt;
  }
}
