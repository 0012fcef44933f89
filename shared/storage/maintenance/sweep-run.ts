import type { AgeClock } from '../../domain/age.ts';
import { BrokerError, isPassing } from '../../domain/broker-error.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import type { DynamoActivity } from '../entities/activity.ts';
import type { DynamoEntityStore } from '../entities/entity-store.ts';
import type { DynamoSessionStore } from '../sessions/session-store.ts';
import type { StoreContext } from '../store-context.ts';
import type { Agenda } from './due-work-index.ts';
import type { SweepLease } from './sweep-lease.ts';

/** What a sweep works with. */
export interface SweepParts {
  readonly context: StoreContext;
  readonly store: DynamoEntityStore;
  readonly sessions: DynamoSessionStore;
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly agenda: Agenda;
  readonly activity: DynamoActivity;
  readonly clock: Clock;
  readonly ages: AgeClock;
  /** Sends on what waits in some partitions of an entity that forwards, or of a topic. */
  readonly forwardPending: (entity: Entity, partitions: readonly number[]) => Promise<void>;
  /** Whether no other process serves this namespace, so that every use was seen here. */
  readonly soleProcess: boolean;
}

const SECOND = 1000;

/**
 * Until when each part of a run begins something new, ms since the run began. Each has time of its own, so
 * that none keeps the others waiting for ever; what is left over is for the parts behind it. Between the
 * last of them and the end of the function (55 s) there is time for what was begun.
 */
export const RUN_UNTIL_MS = {
  agenda: 15 * SECOND,
  graves: 20 * SECOND,
  idle: 25 * SECOND,
  hourly: 32 * SECOND,
  daily: 40 * SECOND,
} as const;

/** From so many tries on a busy table is a failure, too. */
export const RAISED_TRIES = 3;
/** So many failures are named in the error of a run. */
const NAMED_MAX = 10;

/** One run of the sweep: its time, and what failed in it. */
export class SweepRun {
  readonly parts: SweepParts;
  readonly lease: SweepLease;
  readonly #beganAt;
  readonly #failures: Error[] = [];

  constructor(parts: SweepParts, lease: SweepLease) {
    this.parts = parts;
    this.lease = lease;
    this.#beganAt = parts.ages.now();
  }

  /** Whether it is too late for a part of the run to begin something new. */
  isOver(part: keyof typeof RUN_UNTIL_MS): boolean {
    return this.lease.isLost || this.parts.ages.since(this.#beganAt) >= RUN_UNTIL_MS[part];
  }

  /** Does something of which the failure keeps nothing else waiting. `what` = a sentence for the log; `tries` = which try it is. */
  async attempt(what: string, work: () => Promise<unknown>, tries = 1): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.failed(what, error, tries);
    }
  }

  /**
   * Notes a failure, which the run ends with. A table that is busy or slow is only told, unless the same work has
   * failed several times: a later run does it.
   */
  failed(what: string, cause: unknown, tries = 1): void {
    if (tries < RAISED_TRIES && isPassing(cause)) {
      const { code, message } = cause;
      const left = new BrokerError(code, `${what} ${message}`, { cause });
      this.parts.context.background(() => Promise.reject(left));
      return;
    }
    this.#failures.push(new Error(`${what} ${textOf(cause)}`, { cause }));
  }

  /** Throws AggregateError if anything failed: the error metric of the function counts it. */
  requireNoFailure(): void {
    const { length } = this.#failures;
    if (length === 0) return;
    const named = this.#failures.slice(0, NAMED_MAX).map(({ message }) => message);
    const more = length > NAMED_MAX ? [`And ${length - NAMED_MAX} more.`] : [];
    throw new AggregateError(
      this.#failures,
      ['The sweep failed in part.', ...named, ...more].join('\n'),
    );
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
