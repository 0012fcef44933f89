import type { Log } from '../domain/log.ts';
import type { Item } from './dynamo.ts';
import { lowerNextDue } from './head.ts';
import { dueSortKey, logKey, parseDueSortKey } from './keys.ts';
import type { StoreContext } from './store-context.ts';

/** Scheduled blocks that come due together. */
export interface Due {
  /** Epoch ms. */
  readonly dueAt: number;
  /** Sequence numbers of the blocks. */
  readonly sequences: readonly bigint[];
}

/** The item that says when scheduled blocks come due; such items sort by time. */
export function toDueItem(log: Log, { dueAt, sequences }: Due): Item {
  return {
    pk: { S: logKey(log) },
    sk: { S: dueSortKey(dueAt, sequences[0] ?? 0n) },
    b: { L: sequences.map((sequence) => ({ N: sequence.toString() })) },
  };
}

/** Reads such an item. */
export function fromDueItem(item: Item): Due {
  const { dueAt } = parseDueSortKey(item['sk']?.S ?? '');
  return { dueAt, sequences: (item['b']?.L ?? []).map((entry) => BigInt(entry.N ?? 0)) };
}

interface Known {
  readonly nextDueAt: number | undefined;
  /** Monotonic ms. */
  readonly readAt: number;
  /** Monotonic ms at which it was heard. */
  readonly notedAt: number;
}

const LOGS_MAX = 10_000;

/** When the next scheduled message of each log comes due, as this process knows it. */
export class DueTimes {
  readonly #known = new Map<string, Known>();
  readonly #maxAgeMs: number;
  readonly #monotonicNow: () => number;
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** `maxAgeMs`: what another process schedules is seen this much late at most. */
  constructor(maxAgeMs: number, monotonicNow: () => number) {
    this.#maxAgeMs = maxAgeMs;
    this.#monotonicNow = monotonicNow;
  }

  /** Whether something is due now, as far as this process knows. */
  isDue(log: string, now: number): boolean | 'unknown' {
    const known = this.#known.get(log);
    if (known === undefined || this.#monotonicNow() - known.readAt >= this.#maxAgeMs) {
      return 'unknown';
    }
    return known.nextDueAt !== undefined && known.nextDueAt <= now;
  }

  /** When the next message comes due, as far as this process knows. */
  nextDueAt(log: Log): number | undefined {
    return this.#known.get(logKey(log))?.nextDueAt;
  }

  /**
   * `readAt` = monotonic ms before the reading. Of two that went on at once nobody knows which saw more:
   * the earlier time holds, which costs a look at worst.
   */
  note(log: string, nextDueAt: number | undefined, readAt: number): void {
    // Who read before that may know less than what was forgotten.
    if (readAt <= this.#forgottenAt) return;
    const notedAt = this.#monotonicNow();
    const other = this.#known.get(log);
    const isAlone = other === undefined || other.notedAt < readAt;
    if (this.#known.size >= LOGS_MAX) this.#forgetAll();
    this.#known.set(
      log,
      isAlone
        ? { nextDueAt, readAt, notedAt }
        : {
            nextDueAt: earlier(nextDueAt, other.nextDueAt),
            readAt: Math.min(readAt, other.readAt),
            notedAt,
          },
    );
  }

  /** Forgets what is known of a log, so that it is read anew. */
  forget(log: Log): void {
    this.#known.delete(logKey(log));
    this.#forgottenAt = this.#monotonicNow();
  }

  #forgetAll(): void {
    this.#known.clear();
    this.#forgottenAt = this.#monotonicNow();
  }

  /** Milliseconds for `note`. */
  monotonicNow(): number {
    return this.#monotonicNow();
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** Makes it known, here, to other processes and to the sweep, that a message comes due. */
export async function noteDue(context: StoreContext, log: Log, dueAt: number): Promise<void> {
  const readAt = context.dueTimes.monotonicNow();
  const nextDueAt = await lowerNextDue(context.table, log, dueAt);
  context.dueTimes.note(logKey(log), nextDueAt, readAt);
  if (nextDueAt === dueAt) await context.noteWork(log, dueAt);
}
