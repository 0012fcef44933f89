import * as z from 'zod/mini';
import type {
  RenewalOutcome,
  Settlement,
  SettlementAction,
  SettlementOutcome,
} from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { RandomSource } from '../../../shared/domain/clock.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { createTrackingId, outcomeErrorOf } from '../routing/error-response.ts';
import type { BodyAccount } from '../routing/request-body.ts';
import { lockEnds } from './date-text.ts';
import { changedProperties, deadLetterAction, deadLetterFields } from './dead-letter-fields.ts';
import { plainNumber } from './exact-json.ts';
import { checkRequest, parseRequest } from './json-request.ts';

/** The longest delay of an abandoned message, so that no instant leaves the range of dates. */
const DELAY_SECONDS_MAX = 365 * 24 * 60 * 60;

/** Its length is bounded, because the response repeats the token. */
const lockToken = z.string().check(z.maxLength(LIMITS.idLength));
const delaySeconds = z.pipe(
  z.transform(plainNumber),
  z.number().check(z.minimum(0), z.maximum(DELAY_SECONDS_MAX)),
);

/** Strict: a misspelled `delaySeconds` that is silently ignored would be noticed only in production. */
const settlement = z.discriminatedUnion(
  'outcome',
  [
    z.strictObject({ outcome: z.literal('complete'), lockToken }),
    z.strictObject({
      outcome: z.literal('abandon'),
      lockToken,
      delaySeconds: z.optional(delaySeconds),
      isUncounted: z.optional(z.boolean()),
      properties: changedProperties,
    }),
    z.strictObject({ outcome: z.literal('defer'), lockToken, properties: changedProperties }),
    z.strictObject({ outcome: z.literal('deadLetter'), lockToken, ...deadLetterFields }),
  ],
  'must be complete, abandon, defer or deadLetter',
);

/** The settlements are checked one by one, in turns, because they may hold very many properties. */
const settlementsRequest = z.strictObject({
  settlements: z.array(z.unknown()).check(z.minLength(1), z.maxLength(LIMITS.settlements)),
});
const renewalsRequest = z.strictObject({
  lockTokens: z.array(lockToken).check(z.minLength(1), z.maxLength(LIMITS.settlements)),
});

/**
 * Reads `{"settlements":[…]}` (semantics H8, L6), in several turns of the event loop where that takes long,
 * and counts the memory of the settlements. Throws ArgumentError; ServiceBusy where the process has no
 * memory left.
 */
export async function parseSettlements(
  body: Uint8Array,
  account: BodyAccount,
  workTurns: Pick<WorkTurns, 'next'>,
  request: Request,
): Promise<readonly Settlement[]> {
  const items = parseRequest(settlementsRequest, body).settlements;
  account.hold(items.length * BUDGETS.weights.settlementBytes);
  const settlements: Settlement[] = [];
  for (const [i, json] of items.entries()) {
    await workTurns.next(request);
    settlements.push(readSettlement(json, `settlements[${i}]`));
  }
  return settlements;
}

/** Reads one settlement that is part of a larger JSON body, at the place `at`. Throws ArgumentError. */
export function readSettlement(json: unknown, at: string): Settlement {
  return toSettlement(checkRequest(settlement, json, at));
}

function toSettlement(item: z.infer<typeof settlement>): Settlement {
  return { lockToken: item.lockToken, action: actionOf(item) };
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
        ...(item.isUncounted ? { isUncounted: true } : {}),
      };
    case 'defer':
      return { kind: 'defer', ...changes };
    case 'deadLetter':
      return deadLetterAction(item);
  }
}

/** Reads `{"lockTokens":[…]}`, counts the memory. Throws ArgumentError; ServiceBusy where none is left. */
export function parseRenewals(body: Uint8Array, account: BodyAccount): readonly string[] {
  const { lockTokens } = parseRequest(renewalsRequest, body);
  account.hold(lockTokens.length * BUDGETS.weights.settlementBytes);
  return lockTokens;
}

/** Prints the JSON array of the outcomes of settlements. */
export function printSettlements(
  outcomes: readonly SettlementOutcome[],
  random: RandomSource,
): string {
  const trackingId = createTrackingId(random);
  return JSON.stringify(
    outcomes.map(({ lockToken: token, refusal }) =>
      refusal === undefined
        ? { lockToken: token, settled: true }
        : { lockToken: token, settled: false, error: outcomeErrorOf(refusal, trackingId) },
    ),
  );
}

/** Prints the JSON array of the outcomes of renewals. */
export function printRenewals(outcomes: readonly RenewalOutcome[], random: RandomSource): string {
  const trackingId = createTrackingId(random);
  return JSON.stringify(
    outcomes.map(({ lockToken: token, lockedUntil, refusal }) => ({
      lockToken: token,
      ...(lockedUntil === undefined ? {} : lockEnds(lockedUntil)),
      ...(refusal === undefined ? {} : { error: outcomeErrorOf(refusal, trackingId) }),
    })),
  );
}
