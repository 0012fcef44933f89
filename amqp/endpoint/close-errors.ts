import type { ErrorInfo } from '../wire/states.ts';
import { AmqpError, DecodeError } from '../wire/wire-error.ts';

/** The errors with which the server closes a connection. */

export const IDLE_TIMEOUT: ErrorInfo = {
  condition: 'amqp:resource-limit-exceeded',
  description: 'The connection was idle for too long.',
};

export const UNAUTHORIZED: ErrorInfo = {
  condition: 'amqp:connection:forced',
  description: 'The client did not authenticate in time. Send a token or a key.',
};

export const EVICTED: ErrorInfo = {
  condition: 'amqp:resource-limit-exceeded',
  description: 'The service needs the memory of this connection for others. Connect again.',
};

const FAILED: ErrorInfo = {
  condition: 'amqp:internal-error',
  description: 'The service failed.',
};

/** Returns the error for a protocol violation of the peer, which ends the connection. */
export function notAllowed(sentence: string): AmqpError {
  return new AmqpError('amqp:not-allowed', sentence);
}

/**
 * Returns the error to close a connection with. AmqpError and DecodeError are the peer's mistakes and keep
 * their message. `report` is called with any other error, a fault of this service, whose details the peer
 * does not get.
 */
export function closeReason(error: unknown, report: (fault: unknown) => void): ErrorInfo {
  if (error instanceof AmqpError) {
    return { condition: error.condition, description: error.message };
  }
  if (error instanceof DecodeError) {
    return { condition: 'amqp:decode-error', description: error.message };
  }
  report(error);
  return FAILED;
}
