import { fieldOf } from '../../../client/client-errors.ts';
import type { RenewalOutcome } from '../../../shared/broker/broker.ts';
import { type Call, type GroupLimits, Lanes } from '../../../shared/broker/group-commit/lanes.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { type Calls, JSON_BODY } from '../calls/caller.ts';
import { readRefusal } from '../calls/refusals.ts';
import { SUCCESS } from '../calls/success.ts';
import { pathText, queueKey } from '../format/paths.ts';
import { answerCalls } from './answer-calls.ts';
import { readInstant } from './sessions.ts';

const LIMITS_OF_GROUP: GroupLimits = {
  calls: LIMITS.settlements,
  messages: LIMITS.settlements,
  bytes: Number.POSITIVE_INFINITY,
};

interface Renewal {
  readonly path: EntityPath;
  readonly lockTokens: readonly string[];
}

type RenewLocks = (
  path: EntityPath,
  lockTokens: readonly string[],
) => Promise<readonly RenewalOutcome[]>;

/** Renews locks over HTTP; renewals of one queue that arrive together share a request. */
export function remoteRenewals(caller: Calls, scheduler: Scheduler): RenewLocks {
  const lanes = new Lanes<Renewal, readonly RenewalOutcome[]>(scheduler, {
    limits: LIMITS_OF_GROUP,
    patience: 1,
    carryOut: (calls) => renewGroup(caller, calls),
  });
  return async (path, lockTokens) => {
    if (lockTokens.length === 0) return [];
    const size = { messages: lockTokens.length, bytes: 0 };
    return await lanes.join(queueKey(path), { path, lockTokens }, size);
  };
}

async function renewGroup(
  caller: Calls,
  calls: readonly Call<Renewal, readonly RenewalOutcome[]>[],
): Promise<void> {
  const [first] = calls;
  if (first === undefined) return;
  try {
    const lockTokens = calls.flatMap(({ request }) => request.lockTokens);
    const { text } = await caller.call({
      method: 'POST',
      path: `${pathText(first.request.path)}/messages/$renew`,
      headers: JSON_BODY,
      body: JSON.stringify({ lockTokens }),
      success: SUCCESS.json,
      isRepeatable: true,
    });
    answerCalls(calls, readRenewals(fieldOf(JSON.parse(text), 'renewals'), lockTokens));
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
}

function readRenewals(json: unknown, lockTokens: readonly string[]): readonly RenewalOutcome[] {
  if (!Array.isArray(json) || json.length !== lockTokens.length) {
    throw new Error('An answer has not one outcome for each renewal.');
  }
  return lockTokens.map((lockToken, i) => {
    const refusal = readRefusal(fieldOf(json[i], 'error'));
    if (refusal !== undefined) return { lockToken, refusal };
    return { lockToken, lockedUntil: readInstant(fieldOf(json[i], 'lockedUntil')) };
  });
}
