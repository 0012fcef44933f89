import { BrokerError, type BrokerErrorCode } from '../../shared/domain/broker-error.ts';
import { pause, randomFraction } from '../../shared/domain/scheduler.ts';
import type { DeclareDependencies } from './dependencies.ts';

/** All tries together take well under the function's time limit. */
const TRIES_MAX = 8;
const PAUSE_MS_FIRST = 50;
const PAUSE_MS_MAX = 2000;

/**
 * Repeats work that others were in the way of: on an error that a client may retry, or on one of `codes`. Throws what
 * the last try throws.
 */
export async function repeat<T>(
  { scheduler, random }: Pick<DeclareDependencies, 'scheduler' | 'random'>,
  work: () => Promise<T>,
  codes: readonly BrokerErrorCode[] = [],
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isPassing =
        error instanceof BrokerError && (error.retryable || codes.includes(error.code));
      if (!isPassing || tries === TRIES_MAX) throw error;
    }
    const ms = Math.min(PAUSE_MS_FIRST * 2 ** (tries - 1), PAUSE_MS_MAX);
    await pause(scheduler, ms * (0.5 + randomFraction(random)));
  }
}
