import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';

interface Measurement {
  /** Bytes ever stored in the partition when it was measured. */
  readonly bytesIn: number;
  /** Bytes in the partition when it was measured. */
  readonly size: number;
  /** Absent once a message has left: the partition is measured again before it is called full. */
  readonly measuredAt?: Instant;
}

const LOGS_MAX = 20_000;
/** How long a full entity counts as full without another measurement. */
const FULL_MS = 1000;

/**
 * Upper bounds of the sizes of partitions, with all sub-queues and, of a topic, its subscriptions (semantics D1). The
 * partition's header counts all bytes ever stored, at no extra cost; it does not count what left. So the size is at
 * most the last measured size plus what was stored since. `fitsQuota` decides when to measure.
 */
export class SizeEstimate {
  readonly #bytesIn = new BoundedMap<string, number>(LOGS_MAX);
  readonly #measurements = new BoundedMap<string, Measurement>(LOGS_MAX);
  readonly #ages: AgeClock;

  constructor(ages: AgeClock) {
    this.#ages = ages;
  }

  /** Notes how many bytes were ever stored in a log, as a send has read it. Concurrent sends hear it in any order. */
  noteStored(log: Log, bytesIn: number): void {
    const key = keyOf(log);
    this.#bytesIn.set(key, Math.max(bytesIn, this.#bytesIn.get(key) ?? 0));
  }

  /** Upper bound of the bytes in the partition of a log, as far as this process knows. */
  atMost(log: Log): number {
    const bytesIn = this.#bytesIn.get(keyOf(log)) ?? 0;
    const measurement = this.#measurements.get(keyOf(log));
    if (measurement === undefined) return bytesIn;
    return measurement.size + Math.max(0, bytesIn - measurement.bytesIn);
  }

  /** Whether this process knows how many bytes were ever stored in a log. */
  knows(log: Log): boolean {
    return this.#bytesIn.get(keyOf(log)) !== undefined;
  }

  /** Whether a log was measured a moment ago. */
  isFresh(log: Log): boolean {
    const measuredAt = this.#measurements.get(keyOf(log))?.measuredAt;
    return measuredAt !== undefined && this.#ages.since(measuredAt) < FULL_MS;
  }

  /** Notes that a message left a log: if the log or its topic was full, it is measured again. */
  noteRemoval({ headerEntityId, partition }: Log): void {
    const key = keyOf({ entityId: headerEntityId, partition });
    const measurement = this.#measurements.get(key);
    if (measurement === undefined) return;
    const { measuredAt: _, ...rest } = measurement;
    this.#measurements.set(key, rest);
  }

  /** Notes a measurement that began when `bytesIn` bytes had been stored. */
  noteMeasurement(log: Log, size: number, bytesIn: number): void {
    this.#measurements.set(keyOf(log), { bytesIn, size, measuredAt: this.#ages.now() });
    this.noteStored(log, bytesIn);
  }
}

function keyOf({ entityId, partition }: Pick<Log, 'entityId' | 'partition'>): string {
  return `${entityId}.${partition}`;
}
