import type { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import type { RandomSource } from '../../domain/clock.ts';
import { pause, randomFraction, type Scheduler } from '../../domain/scheduler.ts';
import { databaseBusy } from './sdk-errors.ts';

/** Tries of a write that conflicts with a transaction. */
export const CONFLICT_TRIES_MAX = 8;
/** Tries of a batch of which the database left some undone. */
export const UNPROCESSED_TRIES_MAX = 8;

/** Reasons of a cancelled transaction that pass by themselves. */
const PASSING = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/** Whether a write failed because a transaction holds its item; its condition was not checked. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && error.name === 'TransactionConflictException';
}

/** Whether a cancelled transaction may be tried again, because its conditions were not checked. */
export function mayBeRetried(error: TransactionCanceledException): boolean {
  return (error.CancellationReasons ?? []).some(({ Code = '' }) => PASSING.has(Code));
}

/** The dependencies of pauses between retries. */
export interface RetryTiming {
  readonly scheduler: Scheduler;
  readonly random: RandomSource;
}

/**
 * Pauses before a retry: a few ms with jitter, doubling; not before the first try. Throws ServiceBusy after `triesMax`
 * tries.
 */
export async function pauseBeforeRetry(
  { scheduler, random }: RetryTiming,
  tries: number,
  triesMax: number,
): Promise<void> {
  if (tries === 0) return;
  if (tries >= triesMax) {
    throw databaseBusy(new Error('Another operation holds the item; tries are used up.'));
  }
  await pause(scheduler, randomFraction(random) * 5 * 2 ** tries);
}
