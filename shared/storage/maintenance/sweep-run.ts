import type { AgeClock } from '../../domain/age.ts';
import { BrokerError, isTransient } from '../../domain/broker-error.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { SECOND_MS } from '../../domain/units.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import type { DynamoActivity } from '../entities/activity.ts';
import type { DynamoEntityStore } from '../entities/entity-store.ts';
import type { SweptSessionStore } from '../sessions/session-store.ts';
import type { StoreContext } from '../store-context.ts';
import type { DueWorkIndex } from './due-work-index.ts';
import type { SweepLease } from './sweep-lease.ts';

/** The dependencies of the sweep. */
export interface SweepDependencies {
  readonly context: StoreContext;
  readonly entities: DynamoEntityStore;
  readonly sessions: SweptSessionStore;
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly dueWork: DueWorkIndex;
  readonly activity: DynamoActivity;
  readonly clock: Clock;
  readonly ages: AgeClock;
  /** Forwards the messages that wait in some partitions of a topic or of an entity with ForwardTo. */
  readonly forwardPending: (entity: Entity, partitions: readonly number[]) => Promise<void>;
}

/**
 * Until when each part of a run starts new work, ms since the run began. Each part has time of its own, so that none
 * can starve the others; unused time goes to the parts after it. The time between the last part and the end of the
 * function (55 s) is for work that has started.
 */
export const RUN_UNTIL_MS = {
  dueWork: 15 * SECOND_MS,
  tombstones: 20 * SECOND_MS,
  hourly: 30 * SECOND_MS,
  full: 40 * SECOND_MS,
} as const;

/** From this try on, a busy table counts as a failure, too. */
export const TRIES_BEFORE_FAULT = 3;
/** The error of a run names at most this many failures. */
const NAMED_MAX = 10;

/** One run of the sweep: its time, and what failed in it. */
export class SweepRun {
  readonly dependencies: SweepDependencies;
  readonly lease: SweepLease;
  readonly #beganAt;
  readonly #failures: Error[] = [];

  constructor(dependencies: SweepDependencies, lease: SweepLease) {
    this.dependencies = dependencies;
    this.lease = lease;
    this.#beganAt = dependencies.ages.now();
  }

  /** Whether it is too late for a part of the run to begin something new. */
  isOver(part: keyof typeof RUN_UNTIL_MS): boolean {
    return this.lease.isLost || this.dependencies.ages.since(this.#beganAt) >= RUN_UNTIL_MS[part];
  }

  /**
   * Does work whose failure must not stop the run. `onFailure` = the sentence that is logged if it fails; `tries` = the
   * number of this try. A caller whose work must not wait for a later run passes `TRIES_BEFORE_FAULT`: then a busy
   * table counts as a failure at once.
   */
  async attempt(onFailure: string, work: () => Promise<unknown>, tries = 1): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.failed(onFailure, error, tries);
    }
  }

  /**
   * Records a failure, with which the run will end. A busy or slow table is only logged, because a later run does the
   * work, unless the same work has failed several times.
   */
  failed(what: string, cause: unknown, tries = 1): void {
    if (tries < TRIES_BEFORE_FAULT && isTransient(cause)) {
      const { code, message } = cause;
      const left = new BrokerError(code, `${what} ${message}`, { cause });
      this.dependencies.context.background(() => Promise.reject(left));
      return;
    }
    this.#failures.push(new Error(`${what} ${textOf(cause)}`, { cause }));
  }

  /** Throws AggregateError if a part failed; the function's error metric counts it. */
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
