import type { PeekOptions } from '../../../shared/broker/broker.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { parseSequenceNumber, SEQUENCE_NUMBER_KIND } from './sequence-numbers.ts';

const WHOLE_NUMBER = /^\d{1,9}$/;

/** How long a receive waits for a message. */
export interface Wait {
  readonly ms: number;
  /** Whether the client requested a longer wait. */
  readonly shortened: boolean;
}

/** Reads `timeout`, in whole seconds, limited to `waitMsMax` (semantics H18, #16). Throws ArgumentError. */
export function parseWait(timeout: string | undefined, waitMsMax: number): Wait {
  if (timeout !== undefined && !WHOLE_NUMBER.test(timeout)) {
    throw argumentError(
      `The timeout '${timeout.slice(0, 32)}' is not a number of whole seconds from 0.`,
    );
  }
  const requestedMs =
    (timeout === undefined ? LIMITS.receiveTimeoutSeconds : Number(timeout)) * 1000;
  return { ms: Math.min(requestedMs, waitMsMax), shortened: requestedMs > waitMsMax };
}

/**
 * How long a client should wait before it asks again after a wait that was cut, s. A pause of a tenth of the wait
 * saves a tenth of what waiting costs (docs/cost.md), and delays few messages.
 */
const CUT_WAIT_RETRY_SECONDS = 1;

/** Retry-After where the wait was shortened: the client continues it with another request (semantics H18). */
export function retryHeaders({ shortened }: Wait): Record<string, string> {
  return shortened ? { 'Retry-After': String(CUT_WAIT_RETRY_SECONDS) } : {};
}

/**
 * Reads `maxMessages` (semantics H18); undefined where the client wants one message in headers and body. Throws
 * ArgumentError.
 */
export function parseMaxMessages(maxMessages: string | undefined): number | undefined {
  if (maxMessages === undefined) return undefined;
  const count = WHOLE_NUMBER.test(maxMessages) ? Number(maxMessages) : 0;
  if (count >= 1 && count <= LIMITS.receiveMessages) return count;
  throw argumentError(
    `The maxMessages '${maxMessages.slice(0, 32)}' is not a whole number from 1 to ${LIMITS.receiveMessages}.`,
  );
}

/**
 * Reads the start of a peek and its number of messages, by default the most allowed. Throws ArgumentError.
 */
export function parsePeek(
  fromSequenceNumber: string | undefined,
  maxMessages: string | undefined,
): PeekOptions {
  // A larger number is reduced to the limit, not refused (semantics #76).
  const count =
    maxMessages === undefined
      ? LIMITS.peekMessages
      : Math.min(parseCount(maxMessages), LIMITS.peekMessages);
  if (fromSequenceNumber === undefined) return { maxMessages: count };
  const from = parseSequenceNumber(fromSequenceNumber);
  if (from !== undefined) return { fromSequenceNumber: from, maxMessages: count };
  throw argumentError(`The fromSequenceNumber ${SEQUENCE_NUMBER_KIND}.`);
}

function parseCount(text: string): number {
  if (/^0*[1-9]\d*$/.test(text)) return Number(text);
  throw argumentError(`The maxMessages '${text.slice(0, 32)}' is not a whole number from 1.`);
}
