import type { ErrorInfo } from '../wire/states.ts';
import { AmqpError, DecodeError } from '../wire/wire-error.ts';

/** Why a connection is ended from our side. */

export const SILENT: ErrorInfo = {
  condition: 'amqp:resource-limit-exceeded',
  description: 'Nothing was heard for too long.',
};

export const NOT_PROVED: ErrorInfo = {
  condition: 'amqp:connection:forced',
  description: 'The connection has proved no right in time: send a token, or a key.',
};

export const CROWDED_OUT: ErrorInfo = {
  condition: 'amqp:resource-limit-exceeded',
  description: 'The service needs the memory that the connection holds; connect again.',
};

const FAILED: ErrorInfo = {
  condition: 'amqp:internal-error',
  description: 'The service failed.',
};

/** A mistake of the peer that ends the connection. */
export function notAllowed(sentence: string): AmqpError {
  return new AmqpError('amqp:not-allowed', sentence);
}

/** What the peer is told of an error, which is its own mistake or is reported as a fault of ours. */
export function endBy(error: unknown, report: (fault: unknown) => void): ErrorInfo {
  if (error instanceof AmqpError) {
    return { condition: error.condition, description: error.message };
  }
  if (error instanceof DecodeError) {
    return { condition: 'amqp:decode-error', description: error.message };
  }
  report(error);
  return FAILED;
}
