import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import {
  formatSessionToken,
  parseSessionToken,
  sessionCannotBeLocked,
  sessionsNotSupported,
  stateTooLarge,
} from '../../domain/blocks/session.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { AcceptOptions, ListSessionsOptions, SessionHandle, SessionLock } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable, requireNotForwarding, requireReceivable } from '../entity-lookup.ts';
import type { AcceptedSession } from '../ports/sessions.ts';
import { type Looked, ReceiveWait } from '../receive/receive-wait.ts';
import { forwardTopicDue } from '../routing/forward-pending.ts';
import { requireSessionFits, sessionLog } from './session-operations.ts';

/** Locks, states and lists of sessions (docs/semantics/sessions.md). */

/** Locks a session; see `Broker.acceptSession`. */
export async function acceptSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: AcceptOptions,
): Promise<SessionLock | undefined> {
  const { sessionId } = options;
  if (sessionId === undefined) return await acceptNext(dependencies, path, options);
  const entity = await findReceivable(dependencies, path);
  requireReceivable(entity);
  requireNotForwarding(entity, path.subQueue);
  requireSessionFits(entity, path, sessionId);
  await options.beforeAttempt?.();
  // The caller may have aborted meanwhile, and could not release the session.
  if (options.signal?.aborted) return undefined;
  const { lockMs } = entity.description;
  const accepted = await dependencies.sessions.accept(sessionLog(entity, sessionId), lockMs);
  if (accepted === undefined) throw sessionCannotBeLocked(sessionId);
  return toSessionLock(accepted);
}

async function acceptNext(
  dependencies: BrokerDependencies,
  path: EntityPath,
  { waitMs, signal, beforeAttempt, onWait }: AcceptOptions,
): Promise<SessionLock | undefined> {
  const wait = new ReceiveWait(dependencies, waitMs, signal);
  const look = () => lookForSession(dependencies, path, beforeAttempt, wait);
  try {
    return await wait.untilOver(look, onWait);
  } finally {
    wait.end();
  }
}

async function lookForSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  beforeAttempt: AcceptOptions['beforeAttempt'],
  wait: ReceiveWait,
): Promise<Looked<SessionLock | undefined>> {
  // Read again after each wait: the entity may have been changed, disabled or deleted meanwhile.
  const entity = await findReceivable(dependencies, path);
  requireReceivable(entity);
  requireNotForwarding(entity, path.subQueue);
  requireSessions(entity, path);
  const logs = partitionNumbers(entity).map((partition) => logOf(entity, 'main', partition));
  const isLast = !wait.listen(logs);
  await beforeAttempt?.();
  if (wait.isAborted) return { isOver: true, found: undefined };
  const accepted = await acceptInAny(dependencies, entity, path, () => !wait.isAborted);
  if (accepted === undefined && !isLast) return { isOver: false };
  return { isOver: true, found: accepted && toSessionLock(accepted) };
}

/** Asks one partition after the other from a random start, so that none is preferred (semantics #87). */
async function acceptInAny(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
  isWanted: () => boolean,
): Promise<AcceptedSession | undefined> {
  const partitions = partitionNumbers(entity);
  const [byte = 0] = partitions.length > 1 ? dependencies.random.bytes(1) : [];
  const start = byte % partitions.length;
  for (const partition of [...partitions.slice(start), ...partitions.slice(0, start)]) {
    const log = logOf(entity, 'main', partition);
    await comeDue(dependencies, path, log);
    const accepted = await dependencies.sessions.acceptNext(log, {
      policy: policyOf(entity, 'main', partition),
      lockMs: entity.description.lockMs,
      isWanted,
      // Only a change of the entity breaks locks.
      ...(entity.epoch === 1 ? {} : { brokenUntil: entity.updatedAt + LIMITS.lockMsMax }),
    });
    if (accepted !== undefined) return accepted;
  }
  return undefined;
}

/** Activates scheduled messages that have come due. */
async function comeDue(
  dependencies: BrokerDependencies,
  path: EntityPath,
  log: Log,
): Promise<void> {
  await forwardTopicDue(dependencies, path, log.partition);
  await dependencies.messages.activateDue(log);
}

function requireSessions(entity: Receivable, path: EntityPath): void {
  if (path.subQueue !== 'main' || !entity.description.requiresSession) throw sessionsNotSupported();
}

function toSessionLock({ sessionId, token, lockedUntil }: AcceptedSession): SessionLock {
  return { sessionId, lockToken: formatSessionToken(token), lockedUntil };
}

/** Renews the lock of a session; see `Broker.renewSession`. */
export async function renewSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  session: SessionHandle,
): Promise<SessionLock> {
  const { entity, log, token } = await locate(dependencies, path, session);
  const lockedUntil = await dependencies.sessions.renew(log, token, entity.description.lockMs);
  return { ...session, lockedUntil };
}

/** Ends the lock of a session; see `Broker.releaseSession`. */
export async function releaseSession(
  dependencies: BrokerDependencies,
  path: EntityPath,
  session: SessionHandle,
): Promise<void> {
  const { log, token } = await locate(dependencies, path, session);
  await dependencies.sessions.release(log, token);
}

/** Reads the state of a session; see `Broker.sessionState`. */
export async function sessionState(
  dependencies: BrokerDependencies,
  path: EntityPath,
  session: SessionHandle,
): Promise<Uint8Array | undefined> {
  const { log, token } = await locate(dependencies, path, session);
  return await dependencies.sessions.state(log, token);
}

/** Sets or clears the state of a session; see `Broker.setSessionState`. */
export async function setSessionState(
  dependencies: BrokerDependencies,
  path: EntityPath,
  session: SessionHandle,
  state: Uint8Array | undefined,
): Promise<void> {
  if (state !== undefined && state.byteLength > LIMITS.sessionStateBytes) {
    throw stateTooLarge(state.byteLength);
  }
  const { log, token } = await locate(dependencies, path, session);
  await dependencies.sessions.setState(log, token, state);
}

async function locate(dependencies: BrokerDependencies, path: EntityPath, session: SessionHandle) {
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, session.sessionId);
  const log = sessionLog(entity, session.sessionId);
  return { entity, log, token: parseSessionToken(session.lockToken) };
}

/** Lists sessions; see `Broker.listSessions`. */
export async function listSessions(
  dependencies: BrokerDependencies,
  path: EntityPath,
  { skip, top, updatedAfter }: ListSessionsOptions,
): Promise<readonly string[]> {
  const entity = await findReceivable(dependencies, path);
  requireSessions(entity, path);
  const found: string[] = [];
  for (const partition of partitionNumbers(entity)) {
    const log = logOf(entity, 'main', partition);
    await comeDue(dependencies, path, log);
    const first = { top: skip + top - found.length, updatedAfter };
    const policy = policyOf(entity, 'main', partition);
    found.push(...(await dependencies.sessions.list(log, first, policy)));
    if (found.length >= skip + top) break;
  }
  return found.slice(skip, skip + top);
}
