import type { PeekOptions } from '../../../shared/broker/broker.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { badRequest } from './bad-request.ts';
import { parseSequenceNumber, SEQUENCE_NUMBER_KIND } from './sequence-numbers.ts';

const WHOLE_NUMBER = /^\d{1,9}$/;

/** How long a receive waits. */
export interface Wait {
  readonly ms: number;
  /** Whether the client asked for longer; it may ask again at once. */
  readonly shortened: boolean;
}

/** Reads `timeout`, in whole seconds, up to what the service grants. Throws ArgumentError. */
export function parseWait(timeout: string | undefined, waitMsMax: number): Wait {
  if (timeout !== undefined && !WHOLE_NUMBER.test(timeout)) {
    throw badRequest(
      `The timeout '${timeout.slice(0, 32)}' is not a number of whole seconds from 0.`,
    );
  }
  const asked = (timeout === undefined ? LIMITS.receiveTimeoutSeconds : Number(timeout)) * 1000;
  return { ms: Math.min(asked, waitMsMax), shortened: asked > waitMsMax };
}

/** Where we waited less than was asked for, the client goes on waiting by asking again. */
export function retryHeaders({ shortened }: Wait): Record<string, string> {
  return shortened ? { 'Retry-After': '0' } : {};
}

/** Reads `maxMessages`; absent where one message is wanted in the form of headers. Throws ArgumentError. */
export function parseMaxMessages(maxMessages: string | undefined): number | undefined {
  if (maxMessages === undefined) return undefined;
  const count = WHOLE_NUMBER.test(maxMessages) ? Number(maxMessages) : 0;
  if (count >= 1 && count <= LIMITS.receiveMessages) return count;
  throw badRequest(
    `The maxMessages '${maxMessages.slice(0, 32)}' is not a whole number from 1 to ${LIMITS.receiveMessages}.`,
  );
}

/** Reads where to begin to peek, and how much to show; as much as is allowed unless told. Throws ArgumentError. */
export function parsePeek(
  fromSequenceNumber: string | undefined,
  maxMessages: string | undefined,
): PeekOptions {
  // Who asks for more than is allowed gets what is allowed (semantics #76).
  const count =
    maxMessages === undefined
      ? LIMITS.peekMessages
      : Math.min(parseCount(maxMessages), LIMITS.peekMessages);
  if (fromSequenceNumber === undefined) return { maxMessages: count };
  const from = parseSequenceNumber(fromSequenceNumber);
  if (from !== undefined) return { fromSequenceNumber: from, maxMessages: count };
  throw badRequest(`The fromSequenceNumber ${SEQUENCE_NUMBER_KIND}.`);
}

function parseCount(text: string): number {
  if (/^0*[1-9]\d*$/.test(text)) return Number(text);
  throw badRequest(`The maxMessages '${text.slice(0, 32)}' is not a whole number from 1.`);
}
