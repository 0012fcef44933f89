import { BrokerError, NothingStored, unknownOutcome } from '../../domain/broker-error.ts';
import type { WriteTries } from './write-tries.ts';

/** Runs work before anything is stored: a failure of the database becomes NothingStored. */
export async function beforeStoring<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof BrokerError && error.retryable ? new NothingStored(error) : error;
  }
}

/**
 * Runs work after something was stored: any failure becomes ServiceTimeout, because a refusal would say that nothing
 * was stored.
 */
export async function afterStoring<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof BrokerError ? unknownOutcome(error) : error;
  }
}

/** Runs one try of a write. If the outcome of an earlier try is unknown, a failure becomes an unknown outcome too. */
export async function nextTry<Value>(isUncertain: boolean, work: Promise<Value>): Promise<Value> {
  return await (isUncertain ? afterStoring(work) : work);
}

/** The error of a write: an unknown outcome if an earlier try may have taken effect. */
export function orUnknown({ isUncertain }: WriteTries, error: unknown): unknown {
  return isUncertain ? unknownOutcome(error) : error;
}

/**
 * Whether a conditional write took effect. Throws ServiceTimeout if its condition failed after an earlier try with an
 * unknown outcome, because the failure then proves nothing.
 */
export function decided(outcome: {
  readonly done: boolean;
  readonly isUncertain?: boolean;
}): boolean {
  if (!outcome.done && outcome.isUncertain === true) throw unknownOutcome();
  return outcome.done;
}
