import type { PartitionHints } from '../../broker/ports/partition-hints.ts';
import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { logKey } from '../schema/message-keys.ts';

const LOGS_MAX = 20_000;
/** After this time a partition is asked for what other processes sent, even if others have enough messages. */
const RECHECK_MS = 2000;

/**
 * Remembers in which logs this process stored or found messages. It is only a hint: it saves receives from asking
 * every partition of an entity each time.
 */
export class LocalPartitionHints implements PartitionHints {
  /** The number of the last arrival in each log. */
  readonly #likely = new BoundedMap<string, number>(LOGS_MAX);
  #arrivals = 0;
  readonly #lookedAt = new BoundedMap<string, Instant>(LOGS_MAX);
  readonly #ages: AgeClock;

  constructor(ages: AgeClock) {
    this.#ages = ages;
  }

  /**
   * Notes that this process stored a message in the log with this key. The name of a session's log is no key, and is
   * noted without effect.
   */
  noteArrival(key: string): void {
    this.#likely.set(key, ++this.#arrivals);
  }

  mayHaveMessages(log: Log): boolean {
    return this.#likely.get(logKey(log)) !== undefined;
  }

  isDueForLook(log: Log): boolean {
    const lookedAt = this.#lookedAt.get(logKey(log));
    return lookedAt === undefined || this.#ages.since(lookedAt) >= RECHECK_MS;
  }

  beginLook(log: Log): (mayHaveMessages: boolean) => void {
    const before = this.#arrivals;
    return (mayHaveMessages) => {
      const key = logKey(log);
      this.#lookedAt.set(key, this.#ages.now());
      if (mayHaveMessages) this.noteArrival(key);
      // The look may have missed messages that arrived since it began.
      else if ((this.#likely.get(key) ?? 0) <= before) this.#likely.delete(key);
    };
  }
}
