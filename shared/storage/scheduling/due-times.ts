import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Item } from '../dynamodb/table.ts';
import { dueSortKey, logKey, parseDueSortKey } from '../schema/message-keys.ts';

/** Scheduled blocks that come due together. */
export interface Due {
  /** Epoch ms. */
  readonly dueAt: number;
  /** Sequence numbers of the blocks. */
  readonly sequences: readonly bigint[];
}

/** The due item of scheduled blocks; such items sort by time. */
export function toDueItem(log: Log, { dueAt, sequences }: Due): Item {
  return {
    pk: { S: logKey(log) },
    sk: { S: dueSortKey(dueAt, sequences[0] ?? 0n) },
    b: { L: sequences.map((sequence) => ({ N: sequence.toString() })) },
  };
}

/** Parses such an item. */
export function fromDueItem(item: Item): Due {
  const { dueAt } = parseDueSortKey(item['sk']?.S ?? '');
  return { dueAt, sequences: (item['b']?.L ?? []).map((entry) => BigInt(entry.N ?? 0)) };
}

interface Known {
  readonly nextDueAt: number | undefined;
  /** When the read began. */
  readonly readAt: Instant;
  /** When its answer came. */
  readonly notedAt: Instant;
}

const LOGS_MAX = 10_000;

/** The next due time of each log, as far as this process knows. */
export class DueTimes {
  readonly #known = new BoundedMap<string, Known>(LOGS_MAX, (forgotten) => {
    for (const { notedAt } of forgotten) this.#noteForgotten(notedAt);
  });
  readonly #maxAgeMs: number;
  readonly #ages: AgeClock;
  #forgottenAt: Instant | undefined;

  /** `maxAgeMs` = how late a message that another process schedules may be seen. */
  constructor(maxAgeMs: number, ages: AgeClock) {
    this.#maxAgeMs = maxAgeMs;
    this.#ages = ages;
  }

  /** Whether a scheduled message is due at `now`, as far as this process knows. */
  isDue(log: string, now: number): boolean | 'unknown' {
    const known = this.#known.get(log);
    if (known === undefined || this.#ages.since(known.readAt) >= this.#maxAgeMs) {
      return 'unknown';
    }
    return known.nextDueAt !== undefined && known.nextDueAt <= now;
  }

  /** The next due time, as far as this process knows. */
  nextDueAt(log: Log): number | undefined {
    return this.#known.get(logKey(log))?.nextDueAt;
  }

  /**
   * Notes a due time that was read; `readAt` = `now()` before the read. Of two reads that overlap, either may have seen
   * more, so the earlier due time is kept, which costs at most one read.
   */
  note(log: string, nextDueAt: number | undefined, readAt: Instant): void {
    // A read that overlaps one whose result was forgotten may have seen less than that one.
    if (this.#forgottenAt !== undefined && readAt.order < this.#forgottenAt.order) return;
    const notedAt = this.#ages.now();
    const other = this.#known.get(log);
    const isAlone = other === undefined || other.notedAt.order < readAt.order;
    this.#known.set(
      log,
      isAlone
        ? { nextDueAt, readAt, notedAt }
        : {
            nextDueAt: earlier(nextDueAt, other.nextDueAt),
            readAt: this.#ages.older(readAt, other.readAt),
            notedAt,
          },
    );
  }

  /** Forgets the due time of a log, so that it is read again. */
  forget(log: Log): void {
    this.forgetNamed(logKey(log));
  }

  /** The same for the log with this key. */
  forgetNamed(key: string): void {
    this.#known.delete(key);
    this.#noteForgotten(this.#ages.now());
  }

  /** Reads that began before `instant` are not noted any more. */
  #noteForgotten(instant: Instant): void {
    if (instant.order > (this.#forgottenAt?.order ?? 0)) this.#forgottenAt = instant;
  }

  /** An instant for `note`. */
  now(): Instant {
    return this.#ages.now();
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
