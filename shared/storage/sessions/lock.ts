import type { AcceptedSession } from '../../broker/ports/sessions.ts';
import type { Log } from '../../domain/blocks/log.ts';
import {
  SESSION_TOKEN_BYTES,
  type SessionRules,
  sessionLockLost,
  sessionToken,
  tenureOf,
} from '../../domain/blocks/session.ts';
import { isUnknownOutcome } from '../dynamodb/errors.ts';
import { outcomeOf } from '../dynamodb/outcome-of.ts';
import { sessionKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { deleteLockListing, newLockListing, putLockListing } from './ready-index.ts';
import {
  liveLock,
  parseSession,
  readSession,
  rulesFrom,
  type Session,
  whileHeld,
} from './session-item.ts';

/** Taking and renewing the lock of one session. */

/**
 * Locks a session that nobody holds, by one conditional write; before it, the session is listed for the
 * end of the lock, so that a holder who vanishes leaves nothing that nobody finds. Undefined = somebody
 * was faster.
 */
export async function lockSession(
  context: StoreContext,
  session: Log,
  lockMs: number,
): Promise<AcceptedSession | undefined> {
  const { table, clock, random } = context;
  const now = clock.now();
  const epoch = session.sessions?.epoch ?? 0;
  const token = sessionToken(epoch, random.bytes(SESSION_TOKEN_BYTES));
  const lockedUntil = now + lockMs;
  const listing = newLockListing(context, session, lockedUntil);
  const { generation, sessionId = '' } = session;
  await putLockListing(context, session, listing);
  const lock = {
    UpdateExpression:
      'SET k = :token, t = :tenure, u = :until, o = :epoch, e = :listing, g = :generation',
    ConditionExpression: 'attribute_not_exists(u) OR u <= :now OR o <> :epoch',
    ExpressionAttributeValues: {
      ':token': { B: token },
      ':tenure': { B: tenureOf(token) },
      ':until': { N: String(lockedUntil) },
      ':now': { N: String(now) },
      ':epoch': { N: String(epoch) },
      ':listing': { S: listing },
      ':generation': { N: String(generation) },
    },
  };
  // Sent once: repeated after the holder has given the session back, it would lock it for nobody.
  const locked = await outcomeOf(table.update(sessionKey(session), lock, { once: true }));
  if ('error' in locked && !(await isLockedBy(context, session, token, locked.error))) {
    throw locked.error;
  }
  if ('error' in locked || locked.value.done) return { sessionId, token, lockedUntil };
  context.background(() => deleteLockListing(context, session, { listing, generation }));
  return undefined;
}

/** Whether a write that failed has locked the session all the same: looks where nothing was heard of it. */
async function isLockedBy(
  { table }: StoreContext,
  session: Log,
  token: Uint8Array,
  error: unknown,
): Promise<boolean> {
  if (!isUnknownOutcome(error)) return false;
  const looked = await outcomeOf(readSession(table, session));
  const lock = 'value' in looked ? looked.value.lock : undefined;
  return lock !== undefined && isSame(lock.token, token);
}

/** Whether two tokens or tenures are the same. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}

/** Locks a session by its id. Undefined = somebody holds it. */
export async function accept(
  context: StoreContext,
  session: Log,
  lockMs: number,
): Promise<AcceptedSession | undefined> {
  const known = await readSession(context.table, session);
  if (liveLock(known, session, context.clock.now()) !== undefined) return undefined;
  return await lockSession(context, session, lockMs);
}

/** What is known of a session, for who holds it. Throws SessionLockLost. */
export async function readHeld(
  { table, clock }: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<Session> {
  const known = await readSession(table, session);
  requireHeld(known, session, token, clock.now());
  return known;
}

function requireHeld(known: Session, session: Log, token: Uint8Array, now: number): void {
  const lock = liveLock(known, session, now);
  if (lock === undefined || !isSame(lock.token, token)) throw sessionLockLost();
}

/** What holds for the messages of a session, for who holds it. Throws SessionLockLost. */
export async function held(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<SessionRules> {
  const known = await readSession(context.table, session);
  const now = context.clock.now();
  requireHeld(known, session, token, now);
  return rulesFrom(known, session, now);
}

/** Starts the lock anew; returns its end. Throws SessionLockLost. */
export async function renewSession(
  { table, clock }: StoreContext,
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
  if (written.done) return until;
  const lock = written.old && liveLock(parseSession(written.old), session, now);
  if (lock === undefined || !isSame(lock.token, token)) throw sessionLockLost();
  return lock.lockedUntil;
}
