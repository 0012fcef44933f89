import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Log } from '../../domain/blocks/log.ts';

interface Reading {
  /** What came in until the measurement, bytes. */
  readonly bytesIn: number;
  /** What was there at the measurement, bytes. */
  readonly size: number;
  /** Absent once something has left: it is to be measured again before it is called full. */
  readonly measuredAt?: Instant;
}

const LOGS_MAX = 20_000;
/** How long a full entity is believed to be full without looking again. */
const FULL_MS = 1000;

/**
 * How full logs can be at most. What ever came in is counted by the head at no cost; what left is
 * not. So the size is at most what was there when it was last measured, plus what came in since: as
 * long as that fits, nobody need measure.
 */
export class SizeGauge {
  readonly #bytesIn = new Map<string, number>();
  readonly #readings = new Map<string, Reading>();
  readonly #ages: AgeClock;

  constructor(ages: AgeClock) {
    this.#ages = ages;
  }

  /** A send was told how much ever came in. */
  note(log: Log, bytesIn: number): void {
    if (this.#bytesIn.size >= LOGS_MAX) this.#bytesIn.clear();
    this.#bytesIn.set(keyOf(log), bytesIn);
  }

  /** The most that can be in a log, bytes, as far as this process was told. */
  atMost(log: Log): number {
    const bytesIn = this.#bytesIn.get(keyOf(log)) ?? 0;
    const reading = this.#readings.get(keyOf(log));
    if (reading === undefined) return bytesIn;
    return reading.size + Math.max(0, bytesIn - reading.bytesIn);
  }

  /** Whether this process was told how much ever came into a log. */
  knows(log: Log): boolean {
    return this.#bytesIn.has(keyOf(log));
  }

  /** Whether a log was measured a moment ago. */
  isFresh(log: Log): boolean {
    const measuredAt = this.#readings.get(keyOf(log))?.measuredAt;
    return measuredAt !== undefined && this.#ages.since(measuredAt) < FULL_MS;
  }

  /** Something left a log: who was told that it, or the topic above it, is full may ask again. */
  left({ counterId, partition }: Log): void {
    const key = keyOf({ entityId: counterId, partition });
    const reading = this.#readings.get(key);
    if (reading === undefined) return;
    const { measuredAt: _, ...rest } = reading;
    this.#readings.set(key, rest);
  }

  /** Notes a measurement that began when `bytesIn` had come in. */
  measured(log: Log, size: number, bytesIn: number): void {
    if (this.#readings.size >= LOGS_MAX) this.#readings.clear();
    this.#readings.set(keyOf(log), { bytesIn, size, measuredAt: this.#ages.now() });
    this.note(log, Math.max(bytesIn, this.#bytesIn.get(keyOf(log)) ?? 0));
  }
}

function keyOf({ entityId, partition }: Pick<Log, 'entityId' | 'partition'>): string {
  return `${entityId}.${partition}`;
}
