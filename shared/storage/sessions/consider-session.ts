import { type Block, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { UNLOCKED_SESSION } from '../../domain/blocks/session.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { FIRST_BLOCK, logKey, sessionKey, sessionPrefix } from '../schema/message-keys.ts';
import { cleanUp } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import {
  hasLockEntry,
  isRemovable,
  newLockEntry,
  putLockEntry,
  type ReadyEntry,
  removeReady,
} from './ready-index.ts';
import { isEmptySession } from './release.ts';
import {
  liveLock,
  readSession,
  type Session,
  type StoredSessionLock,
  toLockState,
} from './session-item.ts';

/** Looking at a session that the ready-session index names. */

const PAGE_BLOCKS = 4;

type Front = Awaited<ReturnType<typeof readBlocks>>;

/**
 * Whether the session of an entry is ready: it has a free message and no holder. Removes the entry if it is not needed.
 * With `isProbablyFree`, a session with a message that was never received is ready although it may have a holder: the
 * condition of the lock decides. Then it reads only the block that the entry names, or else the first ones. One read
 * unit, otherwise two or three.
 */
export async function considerSession(
  context: StoreContext,
  session: Log,
  entry: ReadyEntry,
  policy: LogPolicy,
  isProbablyFree = false,
): Promise<boolean> {
  // Taken before all reads, so that the message of a sender that relied on a lock which ended later is found.
  const now = context.clock.now();
  // An entry without a stamp is that of a lock, which may have been renewed.
  const mayHaveHolder = isProbablyFree && entry.stamp !== undefined;
  if (mayHaveHolder && isNew(await namedBlock(context, session, entry), policy, now)) return true;
  const page = { from: FIRST_BLOCK, limit: PAGE_BLOCKS, consistent: true };
  const reading = readBlocks(context, session, page);
  if (mayHaveHolder && isNew((await reading).blocks, policy, now)) return true;
  const [known, front] = await Promise.all([readSession(context, session), reading]);
  const lock = liveLock(known, session, now);
  if (lock !== undefined) {
    await keepLockEntry(context, session, entry, lock, now);
    return false;
  }
  const rules = { ...policy.rules, session: toLockState(known, session, now) };
  if (await hasMessages(context, session, { ...policy, rules }, front)) return true;
  if (isRemovable(entry, known, now)) await forget(context, session, entry, known);
  return false;
}

/** The block that an entry names, unless it is gone. */
async function namedBlock(
  { items }: StoreContext,
  session: Log,
  { block }: ReadyEntry,
): Promise<readonly Block[]> {
  if (block === undefined) return [];
  const key = { pk: logKey(session), sk: sessionPrefix(session) + block };
  const item = await items.get(key);
  return item === undefined ? [] : [fromBlockItem(item)];
}

/** Whether messages of some blocks are free, and none was received before: the session's locks do not matter. */
function isNew(blocks: readonly Block[], { rules }: LogPolicy, now: number): boolean {
  const wasReceived = blocks.some(({ slots }) => [...slots.values()].some((slot) => slot.tag));
  const unlocked = { ...rules, session: UNLOCKED_SESSION };
  return !wasReceived && blocks.some((block) => surveyBlock(block, unlocked, now).free.length > 0);
}

/** Removes or moves the entry of a session with a holder: only the entry for the end of its lock is needed. */
async function keepLockEntry(
  context: StoreContext,
  session: Log,
  entry: ReadyEntry,
  lock: StoredSessionLock,
  now: number,
): Promise<void> {
  const isOfLock = entry.key.sk === lock.entryKey && lock.generation === session.generation;
  if (!isOfLock) {
    const known = { released: [], lock };
    const isNeedless = hasLockEntry(known, session, now) && isRemovable(entry, known, now);
    if (isNeedless) await removeReady(context, entry);
    return;
  }
  // Not due: the scan looked ahead. Due: the lock was renewed meanwhile.
  if (entry.dueAt > now) return;
  const { table } = context;
  const later = newLockEntry(context, session, lock.lockedUntil);
  await putLockEntry(context, session, later);
  const moved = await table.update(sessionKey(session), {
    UpdateExpression: 'SET e = :later',
    ConditionExpression: 'k = :token AND e = :entry',
    ExpressionAttributeValues: {
      ':later': { S: later },
      ':token': { B: lock.token },
      ':entry': { S: lock.entryKey },
    },
  });
  if (moved.done) await removeReady(context, entry);
}

/** The same for a session that was refused, as it was read then. */
export async function keepEntryOf(
  context: StoreContext,
  session: Log,
  entry: ReadyEntry,
  known: Session,
): Promise<void> {
  const now = context.clock.now();
  const lock = liveLock(known, session, now);
  if (lock !== undefined) await keepLockEntry(context, session, entry, lock, now);
}

/**
 * Whether a session without a holder has a free message; deferred ones do not count (semantics S7). Cleans up expired
 * and exhausted messages on the way.
 */
async function hasMessages(
  context: StoreContext,
  session: Log,
  policy: LogPolicy,
  front: Front,
): Promise<boolean> {
  for (let page = front; ; ) {
    const surveys = page.blocks.map((block) => ({
      block,
      survey: surveyBlock(block, policy.rules, context.clock.now()),
    }));
    if (surveys.some(({ survey }) => survey.free.length > 0)) return true;
    await cleanUp(context, session, policy, surveys);
    const { next: from } = page;
    if (from === undefined) return false;
    page = await readBlocks(context, session, { from, limit: PAGE_BLOCKS, consistent: true });
  }
}

/**
 * Removes the entry of an empty session, and its item if that holds no state. The entry of its last lock is removed
 * once that lock has ended for good: a renewal that was sent in time may still arrive.
 */
async function forget(
  context: StoreContext,
  session: Log,
  entry: ReadyEntry,
  known: Session,
): Promise<void> {
  const isGone =
    (await forgetItem(context, session, known)) || (await endLock(context, session, entry, known));
  if (isGone) await removeReady(context, entry);
}

/** Deletes the item of a session without messages, locks in force and state, unless it was changed. */
async function forgetItem(context: StoreContext, session: Log, known: Session): Promise<boolean> {
  if (known.state !== undefined || !(await isEmptySession(context, session))) return false;
  if (known.lock === undefined && known.released.length === 0) return true;
  return (await context.table.delete(sessionKey(session), ifUnchanged(known))).done;
}

/** Ends an expired lock for good if the entry is its own; false = it was renewed or replaced. */
async function endLock(
  { table }: StoreContext,
  session: Log,
  { key }: ReadyEntry,
  { lock }: Session,
): Promise<boolean> {
  if (lock === undefined || key.sk !== lock.entryKey) return true;
  const ended = await table.update(sessionKey(session), {
    UpdateExpression: 'REMOVE k, t, u, o, e, g',
    ConditionExpression: 'k = :token AND u = :until',
    ExpressionAttributeValues: {
      ':token': { B: lock.token },
      ':until': { N: String(lock.lockedUntil) },
    },
  });
  return ended.done;
}

/** The condition that lock, released locks and state of a session are as they were read. */
function ifUnchanged({ lock, released }: Session) {
  const isLockSame = lock === undefined ? 'attribute_not_exists(k)' : 'k = :token AND u = :until';
  const areReleasedSame = released.length === 0 ? 'attribute_not_exists(r)' : 'r = :released';
  return {
    ConditionExpression: `${isLockSame} AND ${areReleasedSame} AND attribute_not_exists(w)`,
    ExpressionAttributeValues: {
      ...(lock && { ':token': { B: lock.token }, ':until': { N: String(lock.lockedUntil) } }),
      ...(released.length > 0 && { ':released': { B: Buffer.concat(released) } }),
    },
  };
}
