import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../domain/units.ts';

/** The times and bounds of pushing. Times in ms. */
export const PUSH = {
  /** How long a worker owns a consumer without a renewal, and how often it renews. */
  leaseMs: 30 * SECOND_MS,
  renewMs: 10 * SECOND_MS,
  /** A worker calls nobody so shortly before its lease ends: the clocks of two machines differ. */
  leaseMarginMs: 5 * SECOND_MS,
  /** A batch window ends so long before a call may last begin. */
  lastCallMs: 1 * SECOND_MS,
  /** Tries to mark a consumer as woken, or to start, while its owners change. */
  wakeTriesMax: 5,

  /** The delay after a delivery that failed; each further one doubles it. */
  retryMsFirst: 1 * SECOND_MS,
  retryMsMax: 5 * MINUTE_MS,
  /** A dead-letter queue counts no deliveries, so there the delay does not grow. */
  deadLetterRetryMs: 1 * MINUTE_MS,
  /** The delay of a message in a dead-letter queue that no target may get. */
  refusedMs: 1 * HOUR_MS,
  /** After so many failed deliveries a message is delivered alone, so that it cannot take others with it. */
  aloneAfterFailures: 3,

  /** The pause of a consumer whose target cannot be called; it doubles with each try. */
  throttledMs: { first: 1 * SECOND_MS, most: 1 * MINUTE_MS },
  unreachableMs: { first: 5 * SECOND_MS, most: 5 * MINUTE_MS },
  /** The pause of a worker while the database is busy, and after an error of its own. */
  busyMs: 2 * SECOND_MS,
  faultMs: 30 * SECOND_MS,
  /** How often a worker whose consumer is disabled looks whether that is still so, while calls are under way. */
  stoppedMs: 2 * SECOND_MS,
  /** How much the clocks of two machines may differ before the instants of one mean nothing to the other. */
  clocksDifferMs: 1 * MINUTE_MS,

  /** Batches of a session in a row, before other sessions get their turn. */
  sessionBatchesMax: 20,
  /** Sessions that a worker keeps locked while their delay goes on, beside those that it works on. */
  waitingSessionsMax: 100,
  /** Workers of one process at a time. */
  workersMax: 256,
  /** Instants at which messages return that a worker remembers, and how many of them it notes at a time. */
  expectedMax: 10_000,
  remindWidth: 8,
  /** Others look so long after an instant at which messages return: the clocks of two machines differ. */
  remindLateMs: 1 * SECOND_MS,
  /** Tries to settle a batch while the database is busy. */
  settleTriesMax: 6,
  settlePauseMs: 200,
  /** The text of a fault that is kept. */
  faultLengthMax: 500,
} as const;
