import type { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import type { RandomSource } from '../../domain/clock.ts';
import { pause, randomFraction, type Scheduler } from '../../domain/scheduler.ts';
import { toBrokerError } from './errors.ts';

/** How often a write is tried that others stand in the way of for a moment. */
export const CONFLICT_TRIES_MAX = 8;

/** What stands in the way of a transaction for a moment. */
const PASSING = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/** Whether a transaction holds the item of a write for a moment; nothing was decided. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && error.name === 'TransactionConflictException';
}

/** Whether a transaction that was cancelled may be tried again: nothing was decided. */
export function isTransient(error: TransactionCanceledException): boolean {
  return (error.CancellationReasons ?? []).some(({ Code = '' }) => PASSING.has(Code));
}

/** What retries wait by. */
export interface RetryTiming {
  readonly scheduler: Scheduler;
  readonly random: RandomSource;
}

/** Nothing before the first try; then a few ms, doubling, with jitter, up to `triesMax` tries. */
export async function pauseBeforeRetry(
  { scheduler, random }: RetryTiming,
  tries: number,
  triesMax: number,
): Promise<void> {
  if (tries === 0) return;
  if (tries >= triesMax) {
    throw toBrokerError(new Error('Another operation holds the item; tries are used up.'));
  }
  await pause(scheduler, randomFraction(random) * 5 * 2 ** tries);
}
