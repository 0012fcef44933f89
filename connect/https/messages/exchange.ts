import { fieldOf } from '../../../client/client-errors.ts';
import type {
  ReceivedMessage,
  SessionHandle,
  Settlement,
  SettlementOutcome,
} from '../../../shared/broker/broker.ts';
import { isBusy, isUnknownOutcome, unknownOutcome } from '../../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { type Calls, JSON_BODY } from '../calls/caller.ts';
import { readRefusal } from '../calls/refusals.ts';
import { SUCCESS } from '../calls/success.ts';
import { EXACT_ACCEPT, readExact } from '../format/exact-batch.ts';
import { pathText } from '../format/paths.ts';
import { printSettlement, readSettlementOutcomes } from '../format/settlement-json.ts';

/** The requests that settle messages of a queue, receive some, or do both. */

/** How to receive: at most so many messages, of those that are there now. */
export interface Receipt {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly maxMessages: number;
  readonly session: SessionHandle | undefined;
}

/** What an exchange brought. */
export interface Exchanged {
  readonly outcomes: readonly SettlementOutcome[];
  /** An error = nothing was received. */
  readonly received:
    | { readonly messages: readonly ReceivedMessage[] }
    | { readonly error: unknown };
}

/** Receives messages that are there now. Throws what the service refuses. */
export async function receiveNow(
  caller: Calls,
  path: EntityPath,
  receipt: Receipt,
): Promise<readonly ReceivedMessage[]> {
  // A request whose answer got lost has locked or deleted messages, so another one at once would do so to more.
  const call = { ...headCall(path, receipt), isRepeatable: false, isTriedOnce: true } as const;
  const { bytes } = await caller.call(call);
  return readExact(bytes).messages;
}

/**
 * Settles messages. Where an answer got lost it asks again, and does not call a message refused that it may have
 * settled.
 */
export async function settleNow(
  caller: Calls,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId: string | undefined,
): Promise<readonly SettlementOutcome[]> {
  try {
    return await settleOnce(caller, path, settlements, sessionId, false);
  } catch (error) {
    if (!isUnknownOutcome(error)) throw error;
    return await settleAgain(caller, path, settlements, sessionId);
  }
}

/** Settles messages, and receives some in the same request. Throws only where it is not known what was settled. */
export async function settleAndReceive(
  caller: Calls,
  path: EntityPath,
  settlements: readonly Settlement[],
  receipt: Receipt,
): Promise<Exchanged> {
  const sessionId = receipt.session?.sessionId;
  const call = headCall(path, receipt);
  try {
    const body = bodyOf(settlements);
    const headers = { ...call.headers, ...JSON_BODY };
    const { bytes } = await caller.call({ ...call, headers, body, isRepeatable: false });
    const answer = readExact(bytes);
    const outcomes = JSON.parse(answer.settlements ?? 'null');
    const error = answer.error === undefined ? undefined : readRefusal(JSON.parse(answer.error));
    return {
      outcomes: readSettlementOutcomes(outcomes, settlements),
      received: error === undefined ? { messages: answer.messages } : { error },
    };
  } catch (error) {
    if (!isUnknownOutcome(error)) throw error;
    const outcomes = await settleAgain(caller, path, settlements, sessionId);
    return { outcomes, received: { error } };
  }
}

/** A lock that is lost now may have been used by the request whose answer got lost. */
async function settleAgain(
  caller: Calls,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId: string | undefined,
): Promise<readonly SettlementOutcome[]> {
  const again = settleOnce(caller, path, settlements, sessionId, true);
  const outcomes = await again.catch((error: unknown) => {
    throw isBusy(error) ? unknownOutcome(error) : error;
  });
  return outcomes.map((outcome) =>
    outcome.refusal?.code === 'MessageLockLost'
      ? { lockToken: outcome.lockToken, refusal: unknownOutcome(outcome.refusal) }
      : outcome,
  );
}

async function settleOnce(
  caller: Calls,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId: string | undefined,
  isRepeatable: boolean,
): Promise<readonly SettlementOutcome[]> {
  const answer = await caller.call({
    method: 'POST',
    path: `${pathText(path)}/messages/$settle`,
    query: { sessionId },
    headers: JSON_BODY,
    body: bodyOf(settlements),
    success: SUCCESS.json,
    isRepeatable,
  });
  return readSettlementOutcomes(fieldOf(JSON.parse(answer.text), 'settlements'), settlements);
}

function headCall(path: EntityPath, { mode, maxMessages, session }: Receipt) {
  return {
    method: mode === 'peekLock' ? 'POST' : 'DELETE',
    path: `${pathText(path)}/messages/head`,
    query: {
      timeout: 0,
      maxMessages: Math.min(maxMessages, LIMITS.receiveMessages),
      sessionId: session?.sessionId,
      sessionLock: session?.lockToken,
    },
    headers: { Accept: EXACT_ACCEPT },
    success: SUCCESS.exact,
  } as const;
}

function bodyOf(settlements: readonly Settlement[]): string {
  return `{"settlements":[${settlements.map(printSettlement).join(',')}]}`;
}
