import type { Activity } from '../../broker/ports/entities.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';

export interface ActivitySettings {
  readonly clock: Clock;
  /** Writes down that an entity was used; refuses nothing. */
  readonly touch: (entity: Entity, now: number) => Promise<void>;
  readonly background: (work: () => Promise<void>) => void;
}

/** Uses are written down this often at most, so that no message pays for them. */
export const TOUCH_EVERY_MS = 60_000;
const ENTITIES_MAX = 20_000;

interface Uses {
  readonly usedAt: number;
  readonly touchedAt: number;
}

/**
 * Remembers uses, and writes them down now and then for entities that are deleted when idle. Sends
 * need no such thing: the head of a partition tells of them at no cost.
 */
export class DynamoActivity implements Activity {
  readonly #settings: ActivitySettings;
  readonly #uses = new BoundedMap<string, Uses>(ENTITIES_MAX);

  constructor(settings: ActivitySettings) {
    this.#settings = settings;
  }

  used(entity: Entity): void {
    const { clock, touch, background } = this.#settings;
    const now = clock.now();
    const touchedAt = this.#uses.get(entity.id)?.touchedAt ?? entity.accessedAt ?? 0;
    // A clock that was set back tells nothing of how long ago that was.
    const isLongAgo = now < touchedAt || now - touchedAt >= TOUCH_EVERY_MS;
    const isDue = entity.description.autoDeleteOnIdleMs !== undefined && isLongAgo;
    this.#uses.set(entity.id, { usedAt: now, touchedAt: isDue ? now : touchedAt });
    if (isDue) background(() => ignoreGone(touch(entity, now)));
  }

  /** The last use that this process saw, epoch ms. */
  usedAt(entity: Entity): number | undefined {
    return this.#uses.get(entity.id)?.usedAt;
  }
}

async function ignoreGone(touched: Promise<void>): Promise<void> {
  try {
    await touched;
  } catch (error) {
    // Deleted meanwhile: nothing is left to be idle.
    if (!(error instanceof BrokerError) || error.code !== 'MessagingEntityNotFound') throw error;
  }
}
