import { BrokerError, serviceBusy, unknownOutcome } from '../../domain/broker-error.ts';
import { SENT_BEFORE } from './write-tries.ts';

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

const isConnectionFailure = (error: unknown): boolean =>
  error instanceof Error && NETWORK_CODES.has((error as NodeJS.ErrnoException).code ?? '');

/** Whether the database answered with a fault of its own, after which the outcome is unknown. */
function isServerFault(error: unknown): boolean {
  const metadata = (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata;
  return (metadata?.httpStatusCode ?? 0) >= 500;
}
