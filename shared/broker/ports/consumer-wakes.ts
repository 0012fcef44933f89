import type { Log } from '../../domain/blocks/log.ts';
import type { Entity } from '../../domain/entities/entity.ts';

/** Hears of messages of logs that have consumers, so that a dispatcher may push them. */
export interface ConsumerWakes {
  /**
   * Messages may be available now. `isStored` = by a new item with the mark of consumers, of which the table's stream
   * tells.
   */
  available(log: Log, isStored: boolean): void;
  /** Messages may become available at an instant, epoch ms, by time alone. */
  availableAt(log: Log, instant: number): void;
  /** The consumers of an entity may have messages. Throws ServiceBusy, ServiceTimeout. */
  wakeAll(entity: Entity): Promise<void>;
}

/** For a process that need not hear of them, since it pushes messages itself. */
export const NO_WAKES: ConsumerWakes = {
  available: () => {},
  availableAt: () => {},
  wakeAll: async () => {},
};
