import {
  BrokerError,
  type BrokerErrorCode,
  serviceBusy,
} from '../../shared/domain/broker-error.ts';
import { guidText } from '../messages/property-values.ts';
import type { ErrorInfo, Outcome } from '../wire/states.ts';
import { AmqpError, DecodeError } from '../wire/wire-error.ts';
import type { AmqpDependencies } from './dependencies.ts';

interface ErrorMapping {
  readonly condition: string;
  /** The status code in replies of `$management`. */
  readonly status: number;
}

/** The AMQP error condition and status of each broker error (semantics W27). */
const MAPPINGS = {
  ArgumentError: { condition: 'com.microsoft:argument-error', status: 400 },
  InvalidOperation: { condition: 'amqp:not-allowed', status: 400 },
  MessageSizeExceeded: { condition: 'amqp:link:message-size-exceeded', status: 403 },
  QuotaExceeded: { condition: 'amqp:resource-limit-exceeded', status: 403 },
  MessageLockLost: { condition: 'com.microsoft:message-lock-lost', status: 410 },
  MessageNotFound: { condition: 'com.microsoft:message-not-found', status: 404 },
  MessagingEntityNotFound: { condition: 'amqp:not-found', status: 404 },
  MessagingEntityAlreadyExists: { condition: 'com.microsoft:entity-already-exists', status: 409 },
  MessagingEntityDisabled: { condition: 'com.microsoft:entity-disabled', status: 400 },
  NoMatchingSubscription: { condition: 'com.microsoft:no-matching-subscription', status: 500 },
  PreconditionFailed: { condition: 'amqp:precondition-failed', status: 412 },
  ConflictInProgress: { condition: 'com.microsoft:server-busy', status: 503 },
  SessionCannotBeLocked: { condition: 'com.microsoft:session-cannot-be-locked', status: 410 },
  SessionLockLost: { condition: 'com.microsoft:session-lock-lost', status: 410 },
  Unauthenticated: { condition: 'amqp:unauthorized-access', status: 401 },
  Forbidden: { condition: 'amqp:unauthorized-access', status: 401 },
  ServiceBusy: { condition: 'com.microsoft:server-busy', status: 503 },
  ServiceTimeout: { condition: 'com.microsoft:timeout', status: 408 },
  TransactionAborted: { condition: 'amqp:transaction:rollback', status: 409 },
  NotSupported: { condition: 'amqp:not-implemented', status: 501 },
} as const satisfies Record<BrokerErrorCode, ErrorMapping>;

const FAULT: ErrorMapping = { condition: 'amqp:internal-error', status: 500 };

/** An error as the client receives it. */
export interface MappedError extends ErrorInfo {
  readonly description: string;
  readonly status: number;
}

/**
 * Maps a thrown error to the condition, status and description for the client. The description carries a
 * tracking id, which is also in the log (semantics W29, #157, #B2). An unexpected error is reported as a fault, and the
 * client gets no details of it. `address` = the entity, for the description.
 */
export function mapError(
  dependencies: AmqpDependencies,
  error: unknown,
  address: string,
): MappedError {
  const known = error instanceof BrokerError ? error.trackingId : undefined;
  const trackingId = known ?? guidText(dependencies.random.bytes(16));
  const time = new Date(dependencies.clock.now()).toISOString().slice(0, 19);
  const suffix = `TrackingId:${trackingId}_G0, SystemTracker:${dependencies.namespace}:${address.slice(0, 300)}, Timestamp:${time}`;
  const { condition, status } = mappingOf(error);
  if (status === FAULT.status && !(error instanceof BrokerError)) {
    dependencies.reportFault(error, trackingId);
  }
  return { condition, status, description: `${sentenceOf(error)} ${suffix}` };
}

/** Maps a thrown error to a rejected outcome. */
export function rejection(
  dependencies: AmqpDependencies,
  error: unknown,
  address: string,
): Extract<Outcome, { readonly kind: 'rejected' }> {
  const { condition, description } = mapError(dependencies, error, address);
  return { kind: 'rejected', error: { condition, description } };
}

/** The error if a connection may not hold the memory of a request or settlement. */
export function connectionMemoryExceeded(): BrokerError {
  return serviceBusy(
    'The connection exceeds its memory limit. Wait for the outcome of other operations and try again.',
  );
}

function mappingOf(error: unknown): ErrorMapping {
  if (error instanceof BrokerError) return MAPPINGS[error.code];
  if (error instanceof DecodeError) return MAPPINGS.ArgumentError;
  return error instanceof AmqpError ? { condition: error.condition, status: 400 } : FAULT;
}

function sentenceOf(error: unknown): string {
  if (error instanceof BrokerError || error instanceof DecodeError || error instanceof AmqpError) {
    return error.message;
  }
  return 'The service was unable to process the request; please retry the operation.';
}
