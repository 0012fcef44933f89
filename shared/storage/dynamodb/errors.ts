import { BrokerError, NothingStored } from '../../domain/broker-error.ts';
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
 * What a failure of the database means to a client. Nothing from the SDK crosses out of storage:
 * throttling is ServiceBusy; everything whose outcome is unknown is ServiceTimeout.
 */
export function toBrokerError(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error;
  const name = error instanceof Error ? error.name : '';
  if (BUSY.has(name) || (error instanceof Error && error.message.includes('tries are used up'))) {
    return new BrokerError('ServiceBusy', 'The service is busy. Wait a moment and try again.', {
      cause: error,
      subCode: '50009',
    });
  }
  if (TIMED_OUT.has(name) || isConnectionFailure(error) || isServerFault(error)) {
    return unknownOutcome(error);
  }
  throw error;
}

function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code;
  return code !== undefined && NETWORK_CODES.has(code);
}

/** The database answered that it failed; whether before or after the work is not known. */
function isServerFault(error: unknown): boolean {
  const metadata = (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata;
  return (metadata?.httpStatusCode ?? 0) >= 500;
}

/** Does what comes before anything counts as stored: where the database fails at it, that is certain. */
export async function beforeStoring<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof BrokerError && error.retryable ? new NothingStored(error) : error;
  }
}

/**
 * Does what follows once something is stored: where the database fails at it, a refusal would tell that
 * nothing was stored. Throws ServiceTimeout.
 */
export async function afterStoring<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof BrokerError ? unknownOutcome(error) : error;
  }
}

/** Does a try of a write; where an earlier one may have been carried out unheard, a failure tells nothing. */
export async function nextTry<Value>(isUnheard: boolean, work: Promise<Value>): Promise<Value> {
  return await (isUnheard ? afterStoring(work) : work);
}

/** Whether nothing was heard of what was tried: it may or may not have been done. */
export function isUnknownOutcome(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'ServiceTimeout';
}

/** What took effect, or not, in a write whose answer was lost. */
export function unknownOutcome(cause?: unknown): BrokerError {
  return new BrokerError(
    'ServiceTimeout',
    'The operation did not complete in time; whether it took effect is not known.',
    { cause, subCode: '50400' },
  );
}

/** What a write failed with. The refusal of its last try says nothing where an earlier one may have been carried out. */
export function orUnknown({ mayHaveHappened }: WriteTries, error: unknown): unknown {
  return mayHaveHappened ? unknownOutcome(error) : error;
}

/**
 * Whether a conditional write was carried out. Where an earlier try of it may have been, without being
 * heard of, a failed condition says nothing: throws ServiceTimeout.
 */
export function decided(outcome: {
  readonly done: boolean;
  readonly isRepeated?: boolean;
}): boolean {
  if (!outcome.done && outcome.isRepeated === true) throw unknownOutcome();
  return outcome.done;
}
