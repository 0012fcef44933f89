/**
 * Every reason for which the broker refuses a request. A code has the name that the Service Bus client libraries give
 * to the failure, if they have one; the other names are ours. Each surface has one complete table that maps the codes
 * to its own.
 */
const CODES = [
  'ArgumentError',
  'InvalidOperation',
  'MessageSizeExceeded',
  'QuotaExceeded',
  'MessageLockLost',
  'MessageNotFound',
  'MessagingEntityNotFound',
  'MessagingEntityAlreadyExists',
  'MessagingEntityDisabled',
  'NoMatchingSubscription',
  'PreconditionFailed',
  'ConflictInProgress',
  'SessionCannotBeLocked',
  'SessionLockLost',
  'Unauthenticated',
  'Forbidden',
  'ServiceBusy',
  'ServiceTimeout',
  'TransactionAborted',
  'NotSupported',
] as const;

/** A reason for which the broker refuses a request. */
export type BrokerErrorCode = (typeof CODES)[number];

/** Whether a text is the code of a refusal. */
export function isBrokerErrorCode(text: string): text is BrokerErrorCode {
  return CODES.some((code) => code === text);
}

/** The codes after which the same request may succeed if the client repeats it unchanged (semantics M24). */
const RETRYABLE: ReadonlySet<BrokerErrorCode> = new Set([
  'ServiceBusy',
  'ServiceTimeout',
  'ConflictInProgress',
  'TransactionAborted',
]);

/** A refused request: a code for programs, and a sentence for the person who reads the log. */
export class BrokerError extends Error {
  readonly code: BrokerErrorCode;
  /** A finer code that the wire formats put in front of the sentence, for instance `40000`. */
  readonly subCode: string | undefined;
  /** In a transaction: the index of the operation that failed, if known. */
  readonly operation: number | undefined;
  /** The id in the log of another process, if that has refused the request. */
  readonly trackingId: string | undefined;

  constructor(
    code: BrokerErrorCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly subCode?: string | undefined;
      readonly operation?: number | undefined;
      readonly trackingId?: string | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'BrokerError';
    this.code = code;
    this.subCode = options.subCode;
    this.operation = options.operation;
    this.trackingId = options.trackingId;
  }

  /** The same error, attributed to the operation with this index in its transaction. */
  ofOperation(operation: number): BrokerError {
    const { code, message, subCode, trackingId } = this;
    return new BrokerError(code, message, { cause: this, subCode, trackingId, operation });
  }

  /** The same error in other words. */
  withMessage(message: string): BrokerError {
    const { code, subCode, trackingId, operation } = this;
    return new BrokerError(code, message, { cause: this, subCode, trackingId, operation });
  }

  /** Whether the same request may succeed if the client repeats it. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/**
 * A refusal with the guarantee that nothing was stored. The caller may therefore store the message somewhere
 * else, and it will not exist twice.
 */
export class NothingStored extends BrokerError {
  constructor(refusal: BrokerError) {
    const { code, message, subCode } = refusal;
    super(code, message, { cause: refusal, ...(subCode === undefined ? {} : { subCode }) });
    this.name = 'NothingStored';
  }
}

/** The sentence of Service Bus for a lock that has expired, was broken or never existed. */
const LOCK_LOST_TEXT =
  'The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue. For more information please see https://aka.ms/ServiceBusExceptions .';

/** MessageLockLost: the token holds no live lock. */
export function lockLost(cause?: unknown): BrokerError {
  return new BrokerError('MessageLockLost', LOCK_LOST_TEXT, { cause });
}

/** Whether a request was refused because the database or the process is busy, so that nothing was done. */
export function isBusy(error: unknown): error is BrokerError {
  return error instanceof BrokerError && error.code === 'ServiceBusy';
}

/** Whether a failure is transient: the database is busy or slow. */
export function isTransient(error: unknown): error is BrokerError {
  return isBusy(error) || (error instanceof BrokerError && error.code === 'ServiceTimeout');
}

type Details = ConstructorParameters<typeof BrokerError>[2];

/** ArgumentError with the subcode of requests that are not well-formed and of invalid values (semantics N14). */
export const argumentError = (sentence: string, cause?: unknown): BrokerError =>
  new BrokerError('ArgumentError', sentence, { cause, subCode: '40000' });

/** InvalidOperation, for a request that the entity or the state of the message does not allow. */
export const invalidOperation = (sentence: string, details?: Details): BrokerError =>
  new BrokerError('InvalidOperation', sentence, details);

/** MessageSizeExceeded, for messages that no repetition of the request makes small enough. */
export const messageSizeExceeded = (sentence: string, details?: Details): BrokerError =>
  new BrokerError('MessageSizeExceeded', sentence, details);

/** ServiceBusy: nothing was done, and the same request may succeed later. */
export const serviceBusy = (sentence: string, details?: Details): BrokerError =>
  new BrokerError('ServiceBusy', sentence, details);

/** ServiceBusy, because there were messages, and other receivers took or hold them. */
export const othersWereFaster = (): BrokerError =>
  serviceBusy('Other receivers were faster to get each message, or hold it now. Try again.', {
    subCode: '50009',
  });

/** ServiceBusy for what only this request does or needs: others may succeed at the same time. */
export class BusyForThis extends BrokerError {
  constructor(sentence: string, details?: Details) {
    super('ServiceBusy', sentence, details);
  }
}

/** The refusal, because the process has no memory for more `things` now. */
export const noMemoryFor = (things: string): BusyForThis =>
  new BusyForThis(
    `The service is busy with as many ${things} as it has memory for. Wait a moment and try again.`,
  );

/** TransactionAborted: nothing was done, and the same transaction may succeed later. */
export function transactionAborted(): BrokerError {
  return new BrokerError(
    'TransactionAborted',
    'The transaction conflicted with another operation and was rolled back. Try again.',
  );
}

/** MessagingEntityAlreadyExists. `path` = the entity, or `<subscription>/Rules/<rule>`. */
export function alreadyExists(path: string): BrokerError {
  return new BrokerError(
    'MessagingEntityAlreadyExists',
    `The messaging entity '${path}' already exists.`,
    { subCode: '40900' },
  );
}

/** MessagingEntityNotFound, in the words that the clients look for (semantics W28). */
export function entityNotFound(path: string): BrokerError {
  return new BrokerError(
    'MessagingEntityNotFound',
    `The messaging entity '${path}' could not be found.`,
    { subCode: '40400' },
  );
}

/** ServiceTimeout: what was asked may have been done, or not. `cause` = what went wrong. */
export const unknownOutcome = (cause?: unknown): BrokerError =>
  new BrokerError(
    'ServiceTimeout',
    'The operation did not complete in time; whether it took effect is not known.',
    { cause, subCode: '50400' },
  );

/** Whether an error means that the work may or may not have been done. */
export function isUnknownOutcome(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'ServiceTimeout';
}

/** Throws the gravest failure among outcomes, if any: an unknown one, since a refusal says that nothing was done. */
export function throwGravest(outcomes: readonly object[]): void {
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
  if (errors.length > 0) throw errors.find(isUnknownOutcome) ?? errors[0];
}
