import * as z from 'zod/mini';
import type { DeadLetterAction, ResubmitOptions } from '../../../shared/broker/broker.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { parseDate } from './date-text.ts';
import { deadLetterAction, deadLetterFields } from './dead-letter-fields.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import { checkRequest, countUpTo, parseOptionalRequest, parseRequest } from './json-request.ts';
import { sequenceNumbers } from './sequence-numbers.ts';

/** The limit of the vendor's batch delete (semantics L14). */
const DELETE_MAX = 4000;
/** The most messages of one resubmit, so that it ends before the client times out. */
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

/** Strict: a request that deletes must not ignore a misspelled field. */
const deadLettersRequest = z.strictObject({ sequenceNumbers, ...deadLetterFields });
const deleteByNumberRequest = z.strictObject({ sequenceNumbers });
const deleteOldRequest = z.strictObject({ maxMessages: countUpTo(DELETE_MAX), enqueuedBefore });
const to = z.optional(z.string().check(z.minLength(1)));
const resubmitRequest = z.strictObject({ maxMessages: z.optional(countUpTo(RESUBMIT_MAX)), to });
const resubmitByNumberRequest = z.strictObject({ sequenceNumbers, to });
const purgeRequest = z.strictObject({});

/** The messages to dead-letter, and the reason, description and properties to set on them. */
export interface DeadLettersRequest {
  readonly sequenceNumbers: readonly bigint[];
  readonly action: DeadLetterAction;
}

/**
 * The messages to delete: by sequence number, or up to `maxMessages` enqueued before an instant (epoch ms).
 */
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

/**
 * Reads which messages to resubmit, from `{"maxMessages":n}`, `{"sequenceNumbers":[…]}` or an empty body, and where
 * `to`. Throws ArgumentError.
 */
export function parseResubmit(body: Uint8Array): ResubmitOptions {
  const json = body.length === 0 ? {} : parseExactJson(body, 'The body');
  if (isJsonObject(json) && 'sequenceNumbers' in json) {
    const { sequenceNumbers: numbers, ...rest } = checkRequest(resubmitByNumberRequest, json);
    return { maxMessages: numbers.length, sequenceNumbers: numbers, ...destination(rest) };
  }
  const { maxMessages = RESUBMIT_MAX, ...rest } = checkRequest(resubmitRequest, json);
  return { maxMessages, ...destination(rest) };
}

function destination(request: { readonly to?: string | undefined }): Pick<ResubmitOptions, 'to'> {
  return request.to === undefined ? {} : { to: parseEntityPath(request.to) };
}

/** Refuses fields in the body of a purge, which always empties the whole queue. Throws ArgumentError. */
export function requirePurge(body: Uint8Array): void {
  parseOptionalRequest(purgeRequest, body);
}

/** Prints for each sequence number, in order, whether its message was changed. */
export function printOutcomes(numbers: readonly bigint[], isDone: readonly boolean[]): string {
  const outcomes = numbers.map((number, i) => `{"sequenceNumber":${number},"done":${isDone[i]}}`);
  return `{"outcomes":[${outcomes.join(',')}]}`;
}
