import type { Log } from '../../domain/blocks/log.ts';
import {
  isOfSessionLock,
  lockIdOf,
  RELEASED_MAX,
  sessionLockLost,
} from '../../domain/blocks/session.ts';
import { BrokerError, unknownOutcome } from '../../domain/broker-error.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { orLookedUp } from '../dynamodb/look-up.ts';
import type { Written } from '../dynamodb/requests.ts';
import { afterStoring } from '../dynamodb/unknown-outcome.ts';
import { AFTER_SECTIONS, FIRST_BLOCK, logName, sessionKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { readHeld } from './lock.ts';
import { addReady, deleteLockEntry } from './ready-index.ts';
import {
  liveLock,
  parseSession,
  readSession,
  type Session,
  type StoredSessionLock,
  whileHeld,
} from './session-item.ts';

/** Releasing sessions. */

/**
 * Releases a session: first ends its lock, then reads its messages. A send stores its message first and reads the
 * session after that, so one of the two adds the session to the ready-session index. Throws SessionLockLost.
 */
export async function release(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<void> {
  const { written, lock, isForgotten } =
    (await forgetUnread(context, session, token)) ?? (await unlock(context, session, token));
  context.plainSessions.forget(session);
  requireGone(written, session, token, context);
  await afterStoring(
    addIfMessagesLeft(context, session, isForgotten ? lockIdOf(token) : undefined),
  );
  if (lock !== undefined) context.background(() => deleteLockEntry(context, session, lock));
}

/** What became of a lock that a release tried to end. */
interface Ended {
  readonly written: Written;
  /** The lock, with the name of its index entry; absent if the outcome is unknown and the item was not read. */
  readonly lock: StoredSessionLock | undefined;
  /** Whether the item was deleted. */
  readonly isForgotten: boolean;
}

/**
 * Deletes the item of an empty session without reading it, if it probably has no state. Undefined = it has a state or
 * messages, or the lock is lost.
 */
async function forgetUnread(
  context: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<Ended | undefined> {
  if (!context.plainSessions.has(session) || !(await isEmptySession(context, session)))
    return undefined;
  const written = await deleteHeld(context, session, token);
  if (!written.done) return written.isUncertain ? ended(written, undefined) : undefined;
  return ended(written, written.item && parseSession(written.item).lock);
}

function ended(written: Written, lock: StoredSessionLock | undefined, isForgotten = true): Ended {
  return { written, lock, isForgotten };
}

/** Adds the session if it has messages. They may have been received under a `forgotten` lock, whose id no item has. */
async function addIfMessagesLeft(
  context: StoreContext,
  session: Log,
  forgotten: Uint8Array | undefined,
): Promise<void> {
  const { blocks } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    limit: 1,
    consistent: true,
  });
  if (blocks.length === 0) return;
  try {
    // Before, since the next holder would count a failed delivery for a message under a lock that is not known.
    if (forgotten !== undefined) await rememberAgain(context, session, forgotten);
  } finally {
    await addReady(context, [session], { before: new Map([[logName(session), UNKNOWN]]) });
  }
}

async function rememberAgain(
  { table }: StoreContext,
  session: Log,
  lockId: Uint8Array,
): Promise<void> {
  await table.update(sessionKey(session), {
    UpdateExpression: 'SET r = :released',
    ConditionExpression: 'attribute_not_exists(r)',
    ExpressionAttributeValues: { ':released': { B: lockId } },
  });
}

/**
 * Throws unless the session is released. If the outcome of the write is unknown, the session's item decides: without
 * this lock, it is released. Throws SessionLockLost, ServiceTimeout.
 */
function requireGone(
  written: Written,
  session: Log,
  token: Uint8Array,
  { clock }: StoreContext,
): void {
  if (written.done) return;
  if (!written.isUncertain) throw sessionLockLost();
  const lock = written.old && liveLock(parseSession(written.old), session, clock.now());
  if (isSameBytes(lock?.token, token)) throw unknownOutcome();
}

/**
 * Ends the lock of a holder that can receive nothing more in order. The next holder receives the messages that it did
 * not settle, which count no failed delivery.
 */
export async function endSession(
  context: StoreContext,
  session: Log,
  lockId: Uint8Array,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { lock } = await readSession(context, session);
      if (lock === undefined || !isSameBytes(lockIdOf(lock.token), lockId)) {
        // An earlier try may have ended the lock without adding the session to the index.
        if (tries > 1) await addReady(context, [session]);
        return;
      }
      return await release(context, session, lock.token);
    } catch (error) {
      const isOver = error instanceof BrokerError && error.code === 'SessionLockLost';
      if (isOver) return;
      if (tries === END_TRIES_MAX) throw error;
    }
  }
}

/** How often ending a lock is tried while the outcome is unknown. */
const END_TRIES_MAX = 3;

/** A session without a known holder: it is added to the index without another read. */
const UNKNOWN: Session = { released: [] };

/**
 * Ends the lock of a session and stores the lock's id, so that messages the holder left, or is receiving now, count no
 * failed delivery. An empty session without state is deleted instead.
 */
async function unlock(context: StoreContext, session: Log, token: Uint8Array): Promise<Ended> {
  const { table, clock } = context;
  const known = await readHeld(context, session, token);
  if (known.state === undefined && (await isEmptySession(context, session))) {
    const written = await deleteHeld(context, session, token);
    if (written.done || written.isUncertain) return ended(written, known.lock);
  }
  const { condition, values } = whileHeld(token, session, clock.now());
  const released = await remembered(context, session, [...known.released, lockIdOf(token)]);
  const releasing = table.update(sessionKey(session), {
    UpdateExpression: 'SET r = :released REMOVE k, t, u, o, e, g',
    ConditionExpression: condition,
    ExpressionAttributeValues: { ...values, ':released': { B: Buffer.concat(released) } },
  });
  return ended(await orLookedUp(table, sessionKey(session), releasing), known.lock, false);
}

/** Deletes the item of a session under the caller's lock, unless it has a state. The outcome has the deleted item. */
async function deleteHeld(
  { table, clock }: StoreContext,
  session: Log,
  token: Uint8Array,
): Promise<Written> {
  const { condition, values } = whileHeld(token, session, clock.now());
  const deleting = table.delete(sessionKey(session), {
    ConditionExpression: `${condition} AND attribute_not_exists(w)`,
    ExpressionAttributeValues: values,
    ReturnValues: 'ALL_OLD',
  });
  return await orLookedUp(table, sessionKey(session), deleting);
}

/** The latest locks are kept in any case, because a claim under them may still be under way. */
const LATEST_LOCK_IDS = 8;
/** How many blocks of a session are read for messages that earlier holders left. */
const LEFT_BLOCKS_MAX = 100;

/** Of released locks, the latest last, those to keep. Reads blocks only if there are too many. */
async function remembered(
  context: StoreContext,
  session: Log,
  lockIds: readonly Uint8Array[],
): Promise<readonly Uint8Array[]> {
  if (lockIds.length <= RELEASED_MAX) return lockIds;
  const { blocks, next } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    to: AFTER_SECTIONS,
    limit: LEFT_BLOCKS_MAX,
    consistent: true,
  });
  const tags = blocks.flatMap(({ slots }) => [...slots.values()].flatMap(({ tag }) => tag ?? []));
  const hasLeft = (lockId: Uint8Array) => tags.some((tag) => isOfSessionLock(tag, lockId));
  const earlier = lockIds.slice(0, -LATEST_LOCK_IDS);
  // Blocks that were not read may hold messages of any of them.
  const others = next === undefined ? [] : earlier.filter((lockId) => !hasLeft(lockId));
  const kept = [...others, ...earlier.filter(hasLeft), ...lockIds.slice(-LATEST_LOCK_IDS)];
  return kept.slice(-RELEASED_MAX);
}

/** Whether a session has no messages, in any state. */
export async function isEmptySession(context: StoreContext, session: Log): Promise<boolean> {
  const { blocks } = await readBlocks(context, session, {
    from: FIRST_BLOCK,
    to: AFTER_SECTIONS,
    limit: 1,
    consistent: true,
  });
  return blocks.length === 0;
}
