import type { Whereabouts } from '../../broker/ports/partition-hints.ts';
import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { logKey } from '../schema/message-keys.ts';

const LOGS_MAX = 20_000;
/** What other processes sent is looked for after so long, though there is enough elsewhere. */
const OVERDUE_MS = 2000;

/**
 * Where this process saw messages come in or found some. A hint: it spares receivers from asking
 * every partition of an entity each time.
 */
export class KnownWhereabouts implements Whereabouts {
  /** The last arrival in each log, counted up. */
  readonly #likely = new Map<string, number>();
  #arrivals = 0;
  readonly #lookedAt = new Map<string, Instant>();
  readonly #ages: AgeClock;

  constructor(ages: AgeClock) {
    this.#ages = ages;
  }

  /** Something came into the log with this key. */
  arrived(log: string): void {
    if (this.#likely.size >= LOGS_MAX) this.#likely.clear();
    this.#likely.set(log, ++this.#arrivals);
  }

  isLikely(log: Log): boolean {
    return this.#likely.has(logKey(log));
  }

  isOverdue(log: Log): boolean {
    const lookedAt = this.#lookedAt.get(logKey(log));
    return lookedAt === undefined || this.#ages.since(lookedAt) >= OVERDUE_MS;
  }

  beginLook(log: Log): (isLikely: boolean) => void {
    const before = this.#arrivals;
    return (isLikely) => {
      const key = logKey(log);
      if (this.#lookedAt.size >= LOGS_MAX) this.#lookedAt.clear();
      this.#lookedAt.set(key, this.#ages.now());
      if (isLikely) this.arrived(key);
      // What has come in since was perhaps not seen.
      else if ((this.#likely.get(key) ?? 0) <= before) this.#likely.delete(key);
    };
  }
}
