import * as z from 'zod/mini';
import type {
  RenewalOutcome,
  Settlement,
  SettlementAction,
  SettlementOutcome,
} from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { RandomSource } from '../../shared/domain/clock.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { httpDate } from './date-text.ts';
import { createTrackingId, showError } from './error-response.ts';
import { parseExactJson, plainNumber } from './exact-json.ts';
import { readProperties } from './property-json.ts';

/** The JSON of calls that settle or renew many messages, each with its own outcome (design §4). */

/** A message may be set aside this long; a bound only so that no instant leaves the calendar. */
const DELAY_SECONDS_MAX = 365 * 24 * 60 * 60;

const lockToken = z.string();
const properties = z.optional(z.pipe(z.unknown(), z.transform(readPropertiesOf)));
const delaySeconds = z.pipe(
  z.transform(plainNumber),
  z.number().check(z.minimum(0), z.maximum(DELAY_SECONDS_MAX)),
);
const deadLetterText = z.string().check(z.maxLength(LIMITS.deadLetterTextLength));

/** Strict: a misspelt `delay` that is quietly ignored would be found out only in production. */
const settlement = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('complete'), lockToken }),
  z.strictObject({
    outcome: z.literal('abandon'),
    lockToken,
    delaySeconds: z.optional(delaySeconds),
    properties,
  }),
  z.strictObject({ outcome: z.literal('defer'), lockToken, properties }),
  z.strictObject({
    outcome: z.literal('deadLetter'),
    lockToken,
    properties,
    deadLetterReason: z.optional(deadLetterText),
    deadLetterErrorDescription: z.optional(deadLetterText),
  }),
]);

const settlementsRequest = z.strictObject({
  settlements: z.array(settlement).check(z.minLength(1), z.maxLength(LIMITS.settlements)),
});
const renewalsRequest = z.strictObject({
  lockTokens: z.array(lockToken).check(z.minLength(1), z.maxLength(LIMITS.settlements)),
});

function readPropertiesOf(json: unknown): ReturnType<typeof readProperties> {
  return readProperties(json, 'properties');
}

/** Reads `{"settlements":[…]}`. Throws ArgumentError. */
export function parseSettlements(body: Uint8Array): readonly Settlement[] {
  return parseRequest(settlementsRequest, body).settlements.map((item) => ({
    lockToken: item.lockToken,
    action: actionOf(item),
  }));
}

function actionOf(item: z.infer<typeof settlement>): SettlementAction {
  const changes = 'properties' in item && item.properties ? { properties: item.properties } : {};
  switch (item.outcome) {
    case 'complete':
      return { kind: 'complete' };
    case 'abandon':
      return {
        kind: 'abandon',
        ...changes,
        ...(item.delaySeconds === undefined
          ? {}
          : { delayMs: Math.round(item.delaySeconds * 1000) }),
      };
    case 'defer':
      return { kind: 'defer', ...changes };
    case 'deadLetter':
      return {
        kind: 'deadLetter',
        ...changes,
        ...(item.deadLetterReason === undefined ? {} : { reason: item.deadLetterReason }),
        ...(item.deadLetterErrorDescription === undefined
          ? {}
          : { description: item.deadLetterErrorDescription }),
      };
  }
}

/** Reads `{"lockTokens":[…]}`. Throws ArgumentError. */
export function parseRenewals(body: Uint8Array): readonly string[] {
  return parseRequest(renewalsRequest, body).lockTokens;
}

function parseRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array,
): z.infer<Schema> {
  const parsed = z.safeParse(schema, parseExactJson(body, 'The body'));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BrokerError('ArgumentError', issue ? sentenceOf(issue) : 'The body is not valid.', {
    subCode: '40000',
  });
}

/** zod/mini carries no sentences of its own, which is what makes it small. */
function sentenceOf(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'The body' : placeOf(issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return `${place} must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}.`;
    case 'too_small':
      return `${place} is too small or short; the least is ${issue.minimum}.`;
    case 'too_big':
      return `${place} is too large or long; the limit is ${issue.maximum}.`;
    case 'unrecognized_keys':
      return `${place} may not have '${issue.keys.join("', '").slice(0, 200)}'.`;
    case 'invalid_union':
      return `${place} must be complete, abandon, defer or deadLetter.`;
    default:
      return `${place} is not valid.`;
  }
}

/** `settlements[3].lockToken`. Not zod's own, whose import brings all of zod with it. */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
}

/** The JSON list of what became of each settlement. */
export function printSettlements(
  outcomes: readonly SettlementOutcome[],
  random: RandomSource,
): string {
  const trackingId = createTrackingId(random);
  return JSON.stringify(
    outcomes.map(({ lockToken: token, refusal }) =>
      refusal === undefined
        ? { lockToken: token, settled: true }
        : { lockToken: token, settled: false, error: showError(refusal, trackingId) },
    ),
  );
}

/** The JSON list of what became of each renewal. */
export function printRenewals(outcomes: readonly RenewalOutcome[], random: RandomSource): string {
  const trackingId = createTrackingId(random);
  return JSON.stringify(
    outcomes.map(({ lockToken: token, lockedUntil, refusal }) => ({
      lockToken: token,
      ...(lockedUntil === undefined ? {} : { lockedUntilUtc: httpDate(lockedUntil) }),
      ...(refusal === undefined ? {} : { error: showError(refusal, trackingId) }),
    })),
  );
}
