import * as z from 'zod/mini';
import type { DeadLetterAction } from '../../../shared/broker/broker.ts';
import { parseDate } from './date-text.ts';
import { deadLetterAction, deadLetterFields } from './dead-letter-fields.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import { checkRequest, countUpTo, parseOptionalRequest, parseRequest } from './json-request.ts';
import { sequenceNumbers } from './sequence-numbers.ts';

/** The JSON of an operator's calls: on single messages, and on many at once. */

/** As the vendor's batch delete has it (semantics L14). */
const DELETE_MAX = 4000;
/** More takes another call: one must end before the patience of the client does. */
const RESUBMIT_MAX = 1000;

const enqueuedBefore = z.pipe(
  z.string(),
  z.transform((text: string, context) => {
    const ms = parseDate(text);
    if (ms !== undefined) return ms;
    const message = 'must be a date like 2033-11-06T08:49:37Z';
    context.issues.push({ code: 'custom', input: text, message });
    return z.NEVER;
  }),
);

/** Strict: of what deletes, a misspelt field must not be ignored. */
const deadLettersRequest = z.strictObject({ sequenceNumbers, ...deadLetterFields });
const deleteByNumberRequest = z.strictObject({ sequenceNumbers });
const deleteOldRequest = z.strictObject({ maxMessages: countUpTo(DELETE_MAX), enqueuedBefore });
const resubmitRequest = z.strictObject({ maxMessages: z.optional(countUpTo(RESUBMIT_MAX)) });
const purgeRequest = z.strictObject({});

/** Which messages to dead-letter, and what to note on them. */
export interface DeadLettersRequest {
  readonly sequenceNumbers: readonly bigint[];
  readonly action: DeadLetterAction;
}

/** Which messages to delete: those of these numbers, or up to so many that are older. */
export type DeleteRequest =
  | { readonly sequenceNumbers: readonly bigint[] }
  | { readonly maxMessages: number; readonly enqueuedBefore: number };

/** Reads `{"sequenceNumbers":[…],"deadLetterReason":"…",…}`. Throws ArgumentError. */
export function parseDeadLetters(body: Uint8Array): DeadLettersRequest {
  const { sequenceNumbers: numbers, ...fields } = parseRequest(deadLettersRequest, body);
  return { sequenceNumbers: numbers, action: deadLetterAction(fields) };
}

/** Reads `{"sequenceNumbers":[…]}` or `{"maxMessages":n,"enqueuedBefore":"…"}`. Throws ArgumentError. */
export function parseDelete(body: Uint8Array): DeleteRequest {
  const json = parseExactJson(body, 'The body');
  return isJsonObject(json) && 'sequenceNumbers' in json
    ? checkRequest(deleteByNumberRequest, json)
    : checkRequest(deleteOldRequest, json);
}

/** Reads how many messages to resubmit at most, of `{"maxMessages":n}` or no body. Throws ArgumentError. */
export function parseResubmit(body: Uint8Array): number {
  return parseOptionalRequest(resubmitRequest, body).maxMessages ?? RESUBMIT_MAX;
}

/** A purge empties the whole queue; a body that asks for less is refused. Throws ArgumentError. */
export function requirePurge(body: Uint8Array): void {
  parseOptionalRequest(purgeRequest, body);
}

/** What was done to each message, in order. */
export function printOutcomes(numbers: readonly bigint[], done: readonly boolean[]): string {
  const outcomes = numbers.map((number, i) => `{"sequenceNumber":${number},"done":${done[i]}}`);
  return `{"outcomes":[${outcomes.join(',')}]}`;
}
