import { BrokerError, type BrokerErrorCode } from '../../shared/domain/broker-error.ts';
import { pause, randomFraction } from '../../shared/domain/scheduler.ts';
import type { DeclareDependencies } from './dependencies.ts';
import { ParametersBusy } from './parameters.ts';

/** How often, and with which longest pause, work is tried. */
interface Patience {
  readonly tries: number;
  readonly pauseMsMax: number;
}

const PAUSE_MS_FIRST = 50;
/** About 5 s altogether: changes of others pass soon. */
const FOR_ENTITIES: Patience = { tries: 8, pauseMsMax: 2000 };
/** About 70 s altogether: Systems Manager takes three writes per second, and a stack may have a hundred or two. */
const FOR_PARAMETERS: Patience = { tries: 24, pauseMsMax: 4000 };

/** Errors after all tries, so that what repeats work around that does not try as often again. */
const givenUp = new WeakSet<Error>();

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
        error instanceof BrokerError &&
        !givenUp.has(error) &&
        (error.retryable || codes.includes(error.code));
      const patience = error instanceof ParametersBusy ? FOR_PARAMETERS : FOR_ENTITIES;
      if (!isPassing) throw error;
      if (tries >= patience.tries) {
        givenUp.add(error);
        throw error;
      }
      const ms = Math.min(PAUSE_MS_FIRST * 2 ** (tries - 1), patience.pauseMsMax);
      await pause(scheduler, ms * (0.5 + randomFraction(random)));
    }
  }
}
