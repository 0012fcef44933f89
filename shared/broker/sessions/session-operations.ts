import { assert } from '../../domain/assert.ts';
import { parseLockToken } from '../../domain/blocks/lock-token.ts';
import { type Log, logOf, logOfSession } from '../../domain/blocks/log.ts';
import { type LogPolicy, policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import {
  isOfSessionLock,
  isSessionLockLost,
  parseSessionToken,
  type SessionLockState,
  sessionLockLost,
  sessionRequired,
  sessionsNotSupported,
} from '../../domain/blocks/session.ts';
import { argumentError, BrokerError } from '../../domain/broker-error.ts';
import { type Entity, partitionsOf, requiresSession } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import { partitionOfKey } from '../../domain/messages/partition.ts';
import { present } from '../../domain/present.ts';
import type {
  ReceivedMessage,
  ReceiveOptions,
  SessionHandle,
  Settlement,
  SettlementOutcome,
} from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable, requireReceivable } from '../entity-lookup.ts';
import type { OnOutcome } from '../ports/messages.ts';
import { claimOptions, type Looked, ReceiveWait } from '../receive/receive-wait.ts';
import { forwardTopicDue, tryForward } from '../routing/forward-pending.ts';
import { mayDeadLetter, requireAction, requireInSession } from '../settle/settlement-rules.ts';

/** Operations on messages inside a session. */

/** Throws InvalidOperation unless there is a session id exactly where one is required; ArgumentError for a long one. */
export function requireSessionFits(
  entity: Entity,
  path: EntityPath,
  sessionId: string | undefined,
): void {
  // A dead-letter queue has no sessions (semantics #37).
  const isBySession = path.subQueue === 'main' && requiresSession(entity);
  if (isBySession && sessionId === undefined) throw sessionRequired();
  if (!isBySession && sessionId !== undefined) throw sessionsNotSupported();
  if (sessionId !== undefined && sessionId.length > LIMITS.idLength) {
    throw argumentError(
      `SessionId is ${sessionId.length} characters long; the limit is ${LIMITS.idLength}.`,
    );
  }
}

/** The log that holds a session's messages. */
export function sessionLog(entity: Entity, sessionId: string): Log {
  const partition = partitionOfKey(sessionId, partitionsOf(entity));
  return logOfSession(logOf(entity, 'main', partition), sessionId);
}

/** The policy for a session's messages. */
export function sessionPolicy(entity: Receivable, log: Log, session: SessionLockState): LogPolicy {
  const policy = policyOf(entity, 'main', log.partition);
  return { ...policy, rules: { ...policy.rules, session } };
}

/**
 * The log and policy of a session whose lock the caller holds; no other can receive from it (semantics #92). Throws
 * InvalidOperation, SessionLockLost.
 */
export async function heldSession(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
  { sessionId, lockToken }: SessionHandle,
): Promise<{ readonly log: Log; readonly policy: LogPolicy }> {
  requireSessionFits(entity, path, sessionId);
  const log = sessionLog(entity, sessionId);
  const lock = await dependencies.sessions.held(log, parseSessionToken(lockToken));
  return { log, policy: sessionPolicy(entity, log, lock) };
}

/**
 * Receives messages of a session in strict order, and waits for the first one if asked to. If the session's lock ends
 * during the wait, nothing was received and nothing is lost, so the answer is empty.
 */
export async function receiveInSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ReceiveOptions,
  session: SessionHandle,
): Promise<readonly ReceivedMessage[]> {
  const wait = new ReceiveWait(dependencies, options.waitMs, options.signal);
  const look = () => lookInSession(dependencies, path, options, session, wait);
  try {
    return (await wait.untilOver(look, options.onWait)) ?? [];
  } catch (error) {
    if (wait.hasPaused && isSessionLockLost(error)) return [];
    throw error;
  } finally {
    wait.end();
  }
}

async function lookInSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ReceiveOptions,
  session: SessionHandle,
  wait: ReceiveWait,
): Promise<Looked<readonly ReceivedMessage[]>> {
  const entity = await findReceivable(dependencies, path);
  requireReceivable(entity);
  requireSessionFits(entity, path, session.sessionId);
  const waitedOn = sessionLog(entity, session.sessionId);
  const isLast = !wait.listen([waitedOn]);
  await options.beforeAttempt?.();
  if (wait.isAborted) return { isOver: true, found: [] };
  const topicDueAt = await forwardTopicDue(dependencies, path, waitedOn.partition);
  const { log, policy } = await heldSession(dependencies, entity, path, session);
  const messages = await dependencies.messages.claim(log, {
    ...policy,
    ...claimOptions(options),
    lockMs: entity.description.lockMs,
  });
  if (entity.description.forwardDeadLetteredMessagesTo !== undefined)
    await tryForward(dependencies, entity, [log.partition]);
  if (messages.length > 0 || isLast) return { isOver: true, found: messages };
  const { messages: store } = dependencies;
  const endsAt = policy.rules.session?.holder?.lockedUntil ?? Number.POSITIVE_INFINITY;
  const changes = [endsAt, topicDueAt, store.changesAt(log, policy)];
  return { isOver: false, changes, ...present({ emptyAt: store.emptyAt(log) }) };
}

/**
 * Settles messages of a session. The tag of a message's lock begins with the id of the session lock under which it was
 * received, so one read of the session shows whether that lock is live (semantics S5).
 */
export async function settleInSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  settlements: readonly Settlement[],
  sessionId: string,
  onOutcome?: OnOutcome<SettlementOutcome>,
): Promise<readonly SettlementOutcome[]> {
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, sessionId);
  const actions = settlements.map(({ action }) => action);
  const isForwarding = mayDeadLetter(entity, actions);
  const log = sessionLog(entity, sessionId);
  const lock = await dependencies.sessions.lockState(log);
  const outcomes: SettlementOutcome[] = [];
  const tell = (index: number, outcome: SettlementOutcome) => {
    outcomes[index] = outcome;
    if (!isForwarding) onOutcome?.(index, outcome);
  };
  const readable = settlements.flatMap(({ lockToken, action }, index) => {
    try {
      requireAction(path, action);
      requireInSession(action);
      const token = parseLockToken(lockToken);
      const lockId = lock.holder?.lockId;
      if (lockId === undefined || !isOfSessionLock(token.tag, lockId)) throw sessionLockLost();
      return [{ index, lockToken, settlement: { token, action } }];
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      tell(index, { lockToken, refusal: asSessionLockLost(error) });
      return [];
    }
  });
  await dependencies.messages.settle(
    log,
    readable.map(({ settlement }) => settlement),
    sessionPolicy(entity, log, lock),
    (i, refusal) => {
      const one = readable[i];
      assert(one !== undefined, 'an outcome is that of a settlement');
      const { index, lockToken } = one;
      const refused = refusal === undefined ? {} : { refusal: asSessionLockLost(refusal) };
      tell(index, { lockToken, ...refused });
    },
  );
  if (isForwarding) await tryForward(dependencies, entity, [log.partition]);
  return outcomes;
}

/** In a session, a lost message lock is reported as a lost session lock (semantics S3). */
function asSessionLockLost(refusal: BrokerError): BrokerError {
  return refusal.code === 'MessageLockLost' ? sessionLockLost() : refusal;
}
