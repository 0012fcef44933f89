/**
 * Every reason for which the broker refuses. The names are the failure names of the
 * Service Bus client libraries; each transport owns one total table from them to its codes.
 */
export type BrokerErrorCode =
  | 'ArgumentError'
  | 'InvalidOperation'
  | 'MessageSizeExceeded'
  | 'QuotaExceeded'
  | 'MessageLockLost'
  | 'MessageNotFound'
  | 'MessagingEntityNotFound'
  | 'MessagingEntityAlreadyExists'
  | 'MessagingEntityDisabled'
  | 'NoMatchingSubscription'
  | 'PreconditionFailed'
  | 'ConflictInProgress'
  | 'SessionCannotBeLocked'
  | 'SessionLockLost'
  | 'Unauthenticated'
  | 'Forbidden'
  | 'ServiceBusy'
  | 'ServiceTimeout'
  | 'TransactionAborted'
  | 'NotSupported';

/** The codes after which the same request may succeed without any change (semantics M24). */
const RETRYABLE: ReadonlySet<BrokerErrorCode> = new Set([
  'ServiceBusy',
  'ServiceTimeout',
  'ConflictInProgress',
  'TransactionAborted',
]);

/** A refusal: a code from the closed list and a sentence for the person who reads the log. */
export class BrokerError extends Error {
  readonly code: BrokerErrorCode;
  /** A finer code that the wire formats carry in front of the sentence, for instance `40000`. */
  readonly subCode: string | undefined;
  /** Of a transaction: the place of the operation for which it was refused, where that is known. */
  readonly operation: number | undefined;

  constructor(
    code: BrokerErrorCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly subCode?: string | undefined;
      readonly operation?: number | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'BrokerError';
    this.code = code;
    this.subCode = options.subCode;
    this.operation = options.operation;
  }

  /** The same refusal as one of an operation of a transaction. */
  ofOperation(operation: number): BrokerError {
    const { code, message, subCode } = this;
    return new BrokerError(code, message, { cause: this, subCode, operation });
  }

  /** Whether a retry of the same request has any chance. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/**
 * A refusal that came before anything was stored, which is certain: what was to be stored may be
 * stored elsewhere without lying in two places.
 */
export class NothingStored extends BrokerError {
  constructor(refusal: BrokerError) {
    const { code, message, subCode } = refusal;
    super(code, message, { cause: refusal, ...(subCode === undefined ? {} : { subCode }) });
    this.name = 'NothingStored';
  }
}

/** The sentence for a lock that has run out, was broken, or never was (semantics #5). */
export const LOCK_LOST_TEXT =
  'The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue. For more information please see https://aka.ms/ServiceBusExceptions .';

/** The refusal for a token that holds no live lock. */
export function lockLost(cause?: unknown): BrokerError {
  return new BrokerError('MessageLockLost', LOCK_LOST_TEXT, { cause });
}

/** Whether a failure passes by itself: the database is busy or slow. */
export function isPassing(error: unknown): error is BrokerError {
  return (
    error instanceof BrokerError &&
    (error.code === 'ServiceBusy' || error.code === 'ServiceTimeout')
  );
}

/** The refusal for an entity that does not exist, in the words the clients look for. */
export function entityNotFound(path: string): BrokerError {
  return new BrokerError(
    'MessagingEntityNotFound',
    `The messaging entity '${path}' could not be found.`,
    { subCode: '40400' },
  );
}
