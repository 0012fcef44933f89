import * as z from 'zod/mini';
import type { DeferredOptions } from '../../../shared/broker/broker.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { isExactNumber } from './exact-json.ts';
import { parseRequest } from './json-request.ts';

const DIGITS = /^\d{1,19}$/;
const INT64_MAX = 2n ** 63n - 1n;

/** The requirement for a sequence number, as the end of a sentence. */
export const SEQUENCE_NUMBER_KIND = `must be a whole number from 0 to ${INT64_MAX}`;

/** Parses a sequence number, keeping every digit (semantics H14); `undefined` where the text is not one. */
export function parseSequenceNumber(digits: string): bigint | undefined {
  if (!DIGITS.test(digits)) return undefined;
  const number = BigInt(digits);
  return number <= INT64_MAX ? number : undefined;
}

const sequenceNumber = z.pipe(
  z.unknown(),
  z.transform((json: unknown, context) => {
    const number = readSequenceNumber(json);
    if (number !== undefined) return number;
    context.issues.push({ code: 'custom', input: json, message: SEQUENCE_NUMBER_KIND });
    return z.NEVER;
  }),
);

function readSequenceNumber(json: unknown): bigint | undefined {
  if (typeof json === 'number') return parseSequenceNumber(String(json));
  return isExactNumber(json) ? parseSequenceNumber(json.$number) : undefined;
}

/** The schema of the field that names messages, each of them once. */
export const sequenceNumbers = z.array(sequenceNumber).check(
  z.minLength(1),
  z.maxLength(LIMITS.sequenceNumbers),
  z.refine((numbers) => new Set(numbers).size === numbers.length, 'names a message twice'),
);

const numbersRequest = z.strictObject({ sequenceNumbers });
const deferredRequest = z.strictObject({
  sequenceNumbers,
  mode: z.optional(z.enum(['peekLock', 'receiveAndDelete'])),
});

/** Reads `{"sequenceNumbers":[…]}`. Throws ArgumentError. */
export function parseSequenceNumbers(body: Uint8Array): readonly bigint[] {
  return parseRequest(numbersRequest, body).sequenceNumbers;
}

/** Reads `{"sequenceNumbers":[…],"mode":"peekLock"}`. Throws ArgumentError. */
export function parseDeferred(body: Uint8Array): DeferredOptions {
  const request = parseRequest(deferredRequest, body);
  return { sequenceNumbers: request.sequenceNumbers, mode: request.mode ?? 'peekLock' };
}

/** Prints the sequence numbers of sent messages, all digits (semantics H14); `null` for one that was not stored. */
export function printSentNumbers(
  sent: readonly { readonly sequenceNumber?: bigint | undefined }[],
): string {
  const numbers = sent.map(({ sequenceNumber: number }) => String(number ?? null));
  return `{"sequenceNumbers":[${numbers.join(',')}]}`;
}
