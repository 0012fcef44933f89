import type { AcceptedSession } from '../../broker/ports/sessions.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import {
  lockIdOf,
  SESSION_TOKEN_BYTES,
  type SessionLockState,
  sessionLockLost,
  sessionToken,
} from '../../domain/blocks/session.ts';
import { isUnknownOutcome } from '../../domain/broker-error.ts';
import { resultOf } from '../../domain/result-of.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { sessionKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { deleteLockEntry, newLockEntry, putLockEntry } from './ready-index.ts';
import {
  liveLock,
  parseSession,
  readSession,
  type Session,
  toLockState,
  whileHeld,
} from './session-item.ts';

/** Taking and renewing the lock of one session. */

/**
 * Locks a free session by one conditional write. Before that it writes an index entry for the end of the lock, so that
 * the messages of a holder that vanishes are found. The condition refuses a session that has a holder (semantics #88).
 * Two write units.
 */
export async function lockSession(
  context: StoreContext,
  session: Log,
  lockMs: number,
): Promise<Locking> {
  const { table, clock, random, plainSessions } = context;
  const now = clock.now();
  const epoch = session.sessions?.epoch ?? 0;
  const token = sessionToken(epoch, random.bytes(SESSION_TOKEN_BYTES));
  const lockedUntil = now + lockMs;
  const entryKey = newLockEntry(context, session, lockedUntil);
  const { generation, sessionId = '' } = session;
  await putLockEntry(context, session, entryKey);
  const lock = {
    UpdateExpression:
      'SET k = :token, t = :lockId, u = :until, o = :epoch, e = :entry, g = :generation',
    // Only a later change of the entity ends a lock: this process may have read the entity before the holder did.
    ConditionExpression: 'attribute_not_exists(u) OR u <= :now OR o < :epoch',
    ExpressionAttributeValues: {
      ':token': { B: token },
      ':lockId': { B: lockIdOf(token) },
      ':until': { N: String(lockedUntil) },
      ':now': { N: String(now) },
      ':epoch': { N: String(epoch) },
      ':entry': { S: entryKey },
      ':generation': { N: String(generation) },
    },
    ReturnValues: 'ALL_OLD' as const,
  };
  // Not repeated by the client: after the holder has released the session, a repeated write would lock it again.
  const locked = await resultOf(table.update(sessionKey(session), lock, { once: true }));
  if ('error' in locked && !(await isLockedBy(context, session, token, locked.error))) {
    throw locked.error;
  }
  if ('value' in locked && locked.value.done)
    plainSessions.note(session, parseSession(locked.value.item ?? {}));
  if ('error' in locked || locked.value.done) {
    if (session.isConsumed) context.consumers.availableAt(withoutSession(session), lockedUntil);
    return { accepted: { sessionId, token, lockedUntil } };
  }
  context.background(() => deleteLockEntry(context, session, { entryKey, generation }));
  return { accepted: undefined, holder: parseSession(locked.value.old ?? {}) };
}

/** The outcome of locking a session: its new lock, or the session as another process holds it. */
export type Locking =
  | { readonly accepted: AcceptedSession }
  | { readonly accepted: undefined; readonly holder: Session };

/** Whether a failed write has locked the session after all. Reads the session if the outcome is unknown. */
async function isLockedBy(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
  error: unknown,
): Promise<boolean> {
  if (!isUnknownOutcome(error)) return false;
  const looked = await resultOf(readSession(context, session));
  const lock = 'value' in looked ? looked.value.lock : undefined;
  return isSameBytes(lock?.token, token);
}

/** Locks a session by its id, even without messages (semantics #90). Undefined = it has a holder (semantics #88). */
export async function accept(
  context: StoreContext,
  session: Log,
  lockMs: number,
): Promise<AcceptedSession | undefined> {
  const known = await readSession(context, session);
  if (liveLock(known, session, context.clock.now()) !== undefined) return undefined;
  return (await lockSession(context, session, lockMs)).accepted;
}

/** Reads a session whose lock the caller holds. Throws SessionLockLost. */
export async function readHeld(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<Session> {
  const known = await readSession(context, session);
  requireHeld(known, session, token, context.clock.now());
  context.plainSessions.note(session, known);
  return known;
}

function requireHeld(known: Session, session: Log, token: Uint8Array, now: number): void {
  const lock = liveLock(known, session, now);
  if (lock === undefined || !isSameBytes(lock.token, token)) throw sessionLockLost();
}

/** The state of a session's lock, which the caller holds. Throws SessionLockLost. */
export async function held(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<SessionLockState> {
  const known = await readHeld(context, session, token);
  return toLockState(known, session, context.clock.now());
}

/** Renews the lock and returns its end, epoch ms. One write unit. Throws SessionLockLost. */
export async function renewSession(
  { table, clock, consumers }: StoreContext,
  session: Log,
  token: Uint8Array,
  lockMs: number,
): Promise<number> {
  const now = clock.now();
  const until = now + lockMs;
  const { condition, values } = whileHeld(token, session, now);
  const written = await table.update(sessionKey(session), {
    UpdateExpression: 'SET u = :until',
    // A copy of an earlier renewal that arrives late must not shorten the lock.
    ConditionExpression: `${condition} AND u < :until`,
    ExpressionAttributeValues: { ...values, ':until': { N: String(until) } },
  });
  if (session.isConsumed) consumers.availableAt(withoutSession(session), until);
  if (written.done) return until;
  const lock = written.old && liveLock(parseSession(written.old), session, now);
  if (lock === undefined || !isSameBytes(lock.token, token)) throw sessionLockLost();
  return lock.lockedUntil;
}
