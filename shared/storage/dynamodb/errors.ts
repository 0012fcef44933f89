import { BrokerError, NothingStored, serviceBusy } from '../../domain/broker-error.ts';
import { SENT_BEFORE, type WriteTries } from './write-tries.ts';

const BUSY = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'LimitExceededException',
  'ItemCollectionSizeLimitExceededException',
]);
const TIMED_OUT = new Set([
  'TimeoutError',
  'AbortError',
  'RequestTimeout',
  'InternalServerError',
  'TransactionInProgressException',
  SENT_BEFORE,
]);

const NETWORK_CODES = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * The BrokerError for a failure of the database: throttling is ServiceBusy, and an unknown outcome is ServiceTimeout.
 * Throws any other error as it is, because it is a defect or a wrong deployment.
 */
export function toBrokerError(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error;
  const name = error instanceof Error ? error.name : '';
  if (BUSY.has(name)) return databaseBusy(error);
  if (TIMED_OUT.has(name) || isConnectionFailure(error) || isServerFault(error)) {
    return unknownOutcome(error);
  }
  throw error;
}

/** The error for a database that is busy, so that nothing was done. */
export const databaseBusy = (cause: unknown): BrokerError =>
  serviceBusy('The service is busy. Wait a moment and try again.', { cause, subCode: '50009' });

function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code;
  return code !== undefined && NETWORK_CODES.has(code);
}

/** Whether the database answered with a fault of its own, after which the outcome is unknown. */
function isServerFault(error: unknown): boolean {
  const metadata = (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata;
  return (metadata?.httpStatusCode ?? 0) >= 500;
}

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

/** Whether an error means that the work may or may not have been done. */
export function isUnknownOutcome(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'ServiceTimeout';
}

/** The error for a write with an unknown outcome. */
export function unknownOutcome(cause?: unknown): BrokerError {
  return new BrokerError(
    'ServiceTimeout',
    'The operation did not complete in time; whether it took effect is not known.',
    { cause, subCode: '50400' },
  );
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
