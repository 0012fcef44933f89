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

export const FAILED: ErrorInfo = {
  condition: 'amqp:internal-error',
  description: 'The service failed.',
};

/** What the peer is told of its own mistake; undefined for a fault of ours. */
export function mistakeIn(error: unknown): ErrorInfo | undefined {
  if (error instanceof AmqpError) {
    return { condition: error.condition, description: error.message };
  }
  return error instanceof DecodeError
    ? { condition: 'amqp:decode-error', description: error.message }
    : undefined;
}
