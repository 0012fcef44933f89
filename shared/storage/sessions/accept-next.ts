import type { AcceptedSession, AcceptNextRequest } from '../../broker/ports/sessions.ts';
import { surveyBlock } from '../../domain/blocks/block.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { type BrokerError, serviceBusy } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { resultOf } from '../../domain/result-of.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { FIRST_BLOCK, FIRST_READY, logName, sessionKey } from '../schema/message-keys.ts';
import { cleanUp } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { lockSession } from './lock.ts';
import {
  hasLockEntry,
  isRemovable,
  newLockEntry,
  putLockEntry,
  type ReadyEntry,
  readReady,
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

const PAGE_ENTRIES = 25;
const PAGE_BLOCKS = 4;
/** How many sessions are read at the same time; usually the first one can be accepted. */
const LOOKS = [1, 4, 20];

/**
 * Locks the session that has waited longest (semantics #87): one query for the first entries, one read of a session,
 * three small writes. Removes unneeded entries in front of it. Undefined = no session is ready. Throws ServiceBusy if
 * other calls of this process failed to accept the sessions that this call left to them.
 */
export async function acceptNext(
  context: StoreContext,
  partition: Log,
  request: AcceptNextRequest,
  { accepting, lookedThrough }: AcceptMemory,
): Promise<AcceptedSession | undefined> {
  const now = context.clock.now();
  const search = { context, partition, request, accepting };
  let found = await searchReady(search, now);
  for (let searches = 1; found === undefined && !(await areOthersHeld(search)); searches++) {
    if (searches === SEARCHES_MAX) throw othersFailed();
    found = await searchReady(search, now);
  }
  const { brokenUntil = now } = request;
  if (found !== undefined || brokenUntil <= now || lookedThrough.has(partition)) return found;
  // A lock that a change of the entity ended has its entry at the end that the lock would have had. Once none of
  // those is left, all later entries belong to locks that were taken since the change.
  const broken = await searchReady(search, brokenUntil);
  if (broken === undefined) lookedThrough.add(partition);
  return broken;
}

/** How often one call reads the index: again each time that another call failed to accept a session left to it. */
const SEARCHES_MAX = 3;

/**
 * Whether the sessions that this call left to other calls of this process are held now. If one of those calls failed,
 * its session may be free.
 */
async function areOthersHeld({ partition, accepting }: Search): Promise<boolean> {
  const prefix = `${logName(partition)}/`;
  const others = [...accepting].flatMap(([name, isHeld]) =>
    name.startsWith(prefix) ? [isHeld] : [],
  );
  return (await Promise.all(others)).every(Boolean);
}

const othersFailed = (): BrokerError =>
  serviceBusy('Sessions could not be accepted just now. Try again.', { subCode: '50009' });

/** What a process remembers about accepting sessions. */
export interface AcceptMemory {
  /** Sessions that this process is accepting, and whether that succeeds. Other calls skip them to avoid a race. */
  readonly accepting: Map<string, Promise<boolean>>;
  readonly lookedThrough: LookedThrough;
}

const LOGS_MAX = 10_000;
/** Stands for the epoch of a log without sessions. */
const NO_EPOCH = -1;

/** Remembers, per partition, the entity epoch at which no locks were left that a change of the entity had ended. */
export class LookedThrough {
  readonly #epochs = new BoundedMap<string, number>(LOGS_MAX);

  has(partition: Log): boolean {
    return this.#epochs.get(logName(partition)) === (partition.sessions?.epoch ?? NO_EPOCH);
  }

  add(partition: Log): void {
    this.#epochs.set(logName(partition), partition.sessions?.epoch ?? NO_EPOCH);
  }
}

interface Search {
  readonly context: StoreContext;
  readonly partition: Log;
  readonly request: AcceptNextRequest;
  readonly accepting: Map<string, Promise<boolean>>;
}

async function searchReady(search: Search, dueBy: number): Promise<AcceptedSession | undefined> {
  const { context, partition } = search;
  let from: string | undefined = FIRST_READY;
  let looks = 0;
  while (from !== undefined) {
    const page = await readReady(context, partition, { from, dueBy, limit: PAGE_ENTRIES });
    let rest = page.entries;
    while (rest.length > 0) {
      const count = LOOKS[Math.min(looks++, LOOKS.length - 1)] ?? 1;
      const { accepted, isRace } = await considerAll(search, rest.slice(0, count));
      if (accepted !== undefined) return accepted;
      rest = rest.slice(count);
      // Other processes accept the same sessions: continue at a random place to avoid more races.
      if (isRace) rest = rotated(rest, context.random);
    }
    from = page.next;
  }
  return undefined;
}

/** Removes unneeded entries that are due, in partitions where no client accepts the next session. */
export async function cleanReadyIndex(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
): Promise<void> {
  const search = { context, partition, request: { policy, lockMs: 0 }, accepting: new Map() };
  const dueBy = context.clock.now();
  let from: string | undefined = FIRST_READY;
  while (from !== undefined) {
    const page = await readReady(context, partition, { from, dueBy, limit: PAGE_ENTRIES });
    await Promise.all(page.entries.map((entry) => consider(search, entry)));
    from = page.next;
  }
}

/** Reads sessions at the same time, and accepts the first that is ready. */
async function considerAll(
  search: Search,
  entries: readonly ReadyEntry[],
): Promise<{ readonly accepted: AcceptedSession | undefined; readonly isRace: boolean }> {
  const considered = await Promise.all(entries.map((entry) => consider(search, entry)));
  let isRace = false;
  for (const [i, isReady] of considered.entries()) {
    const entry = entries[i];
    if (!isReady || entry === undefined) continue;
    const accepted = await take(search, entry);
    if (accepted !== undefined) return { accepted, isRace };
    isRace = true;
  }
  return { accepted: undefined, isRace };
}

function rotated(entries: readonly ReadyEntry[], random: RandomSource): readonly ReadyEntry[] {
  const [byte = 0] = random.bytes(1);
  const start = entries.length === 0 ? 0 : byte % entries.length;
  return [...entries.slice(start), ...entries.slice(0, start)];
}

async function take(
  { context, partition, request, accepting }: Search,
  entry: ReadyEntry,
): Promise<AcceptedSession | undefined> {
  const session = logOfSession(partition, entry.sessionId);
  const name = logName(session);
  if (accepting.has(name)) return undefined;
  const locking = lockSession(context, session, request.lockMs);
  // After this call or a faster one the session is held; only a failure leaves it free.
  const isHeld = resultOf(locking).then((outcome) => 'value' in outcome);
  accepting.set(name, isHeld);
  try {
    const accepted = await locking;
    // The process that was faster removes the entry. An unneeded entry does no harm.
    if (accepted !== undefined && 'error' in (await resultOf(removeReady(context, entry)))) {
      context.background(() => removeReady(context, entry));
    }
    return accepted;
  } finally {
    accepting.delete(name);
  }
}

/** Whether the session of an entry is ready. Removes the entry if it is not needed. */
async function consider(search: Search, entry: ReadyEntry): Promise<boolean> {
  const { context, partition, request, accepting } = search;
  const session = logOfSession(partition, entry.sessionId);
  if (accepting.has(logName(session))) return false;
  // Taken before both reads, so that the message of a sender that relied on a lock which ended later is found.
  const now = context.clock.now();
  const [known, front] = await Promise.all([
    readSession(context.table, session),
    readBlocks(context, session, { from: FIRST_BLOCK, limit: PAGE_BLOCKS, consistent: true }),
  ]);
  const lock = liveLock(known, session, now);
  if (lock !== undefined) {
    await keepLockEntry(context, session, entry, lock, now);
    return false;
  }
  const { policy } = request;
  const rules = { ...policy.rules, session: toLockState(known, session, now) };
  if (await hasMessages(context, session, { ...policy, rules }, front)) return true;
  if (isRemovable(entry, known, now)) await forget(context, session, entry, known);
  return false;
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
    if (hasLockEntry({ released: [], lock }, session, now)) await removeReady(context, entry);
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

/**
 * Whether a session without a holder has a free message; deferred ones do not count (semantics S7). Cleans up expired
 * and exhausted messages on the way.
 */
async function hasMessages(
  context: StoreContext,
  session: Log,
  policy: LogPolicy,
  front: Awaited<ReturnType<typeof readBlocks>>,
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

/** Removes the entry of an empty session, and its item if that holds no state. */
async function forget(
  context: StoreContext,
  session: Log,
  entry: ReadyEntry,
  known: Session,
): Promise<void> {
  await removeReady(context, entry);
  if (known.state !== undefined || !(await isEmptySession(context, session))) return;
  if (known.lock === undefined && known.released.length === 0) return;
  await context.table.delete(sessionKey(session), ifUnchanged(known));
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
