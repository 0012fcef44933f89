import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { unknownOutcome } from '../../domain/broker-error.ts';
import { forEachInTurns } from '../../domain/turns/work-turns.ts';
import { type Item, type ItemKey, keyItem } from '../dynamodb/table.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../schema/consumer-marks.ts';
import {
  logName,
  readyCollection,
  readyInstant,
  readySortKey,
  readyUntil,
  sessionOf,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { liveLock, readSession, type Session, type StoredSessionLock } from './session-item.ts';

/**
 * An entry of the ready-session index: the sessions that may have messages and no holder, in the order in which they
 * began to wait. So accepting the next session costs the same among a hundred sessions and a hundred thousand.
 * What always holds:
 *
 * - A session with messages and without a holder has an entry that is due.
 * - A session with a holder has an entry for the end of its lock, which the session's item names. Sends to it write
 *   no entry.
 * - An unneeded entry does no harm; a process that reads it removes it.
 *
 * A message is stored before its session is added. So the entry of an empty session may be removed, unless the session
 * was added again in between: each entry has a stamp of its own.
 */
export interface ReadyEntry {
  readonly key: ItemKey;
  readonly sessionId: string;
  /** Epoch ms. */
  readonly dueAt: number;
  /** Absent in entries for the end of a lock, whose names are never used twice. */
  readonly stamp?: { readonly bytes: Uint8Array; readonly count: number };
  /** Sort key of a block that a send stored before it wrote the entry; most probably it is still there. */
  readonly block?: string;
}

const STAMP_BYTES = 6;
/** Sends to one session within a second share an entry. */
const STEP_MS = 1000;
/** Clocks of two machines differ by less than this, ms. */
const CLOCK_SKEW_MS = 1000;

/** The key of a session that waits from now on. It is early, so that a process whose clock is behind finds it. */
function waitingKey(session: Log, now: number): ItemKey {
  const instant = Math.floor((now - CLOCK_SKEW_MS) / STEP_MS) * STEP_MS;
  return { pk: readyCollection(session), sk: readySortKey(instant, session, '') };
}

/**
 * The entries to put for those of `logs` that are sessions, each once; for transactions. There may be very many, so
 * they are made in turns of `peer`.
 */
export async function readyItems(
  { random, workTurns }: StoreContext,
  logs: readonly Log[],
  now: number,
  peer: object = {},
): Promise<readonly Item[]> {
  const items = new Map<string, Item>();
  await forEachInTurns(workTurns, peer, logs, (log) => {
    if (!isSession(log) || items.has(logName(log))) return;
    items.set(logName(log), {
      ...keyItem(waitingKey(log, now)),
      x: { B: random.bytes(STAMP_BYTES) },
      c: { N: '1' },
      ...(log.isConsumed ? { [CONSUMER_MARK]: { N: CONSUMER_MARKS.ready } } : {}),
    });
  });
  return [...items.values()];
}

function isSession({ sessionId }: Log): boolean {
  return sessionId !== undefined;
}

/** Wakes the receives of this process that wait for a session of these logs. */
export function wakeForSessions(context: StoreContext, logs: readonly Log[]): void {
  const partitions = new Map(
    logs.filter(isSession).map((log) => [logName(withoutSession(log)), withoutSession(log)]),
  );
  for (const [name, partition] of partitions) {
    context.wake(name, 1);
    if (partition.isConsumed) context.consumers.available(partition, true);
  }
}

/** A new sort key of the entry for the end of a lock. */
export function newLockEntry(context: StoreContext, session: Log, lockedUntil: number): string {
  const name = Buffer.from(context.random.bytes(STAMP_BYTES)).toString('base64url');
  return readySortKey(lockedUntil, session, name);
}

/** Writes the entry for the end of a lock. One write unit. */
export async function putLockEntry(
  { items }: StoreContext,
  session: Log,
  sortKey: string,
): Promise<void> {
  await items.putKey({ pk: readyCollection(session), sk: sortKey });
}

/** Deletes the entry for the end of a lock by its name. One write unit. */
export async function deleteLockEntry(
  { items }: StoreContext,
  session: Log,
  { entryKey, generation }: Pick<StoredSessionLock, 'entryKey' | 'generation'>,
): Promise<void> {
  await items.delete({ pk: readyCollection({ ...session, generation }), sk: entryKey });
}

/** Removes an entry, unless its session was added again since it was read. One write unit. */
export async function removeReady(
  { table }: StoreContext,
  { key, stamp }: ReadyEntry,
): Promise<void> {
  if (stamp === undefined) {
    await table.delete(key);
    return;
  }
  await table.delete(key, {
    ConditionExpression: 'x = :stamp AND c = :count',
    ExpressionAttributeValues: {
      ':stamp': { B: stamp.bytes },
      ':count': { N: String(stamp.count) },
    },
  });
}

/** Entries from one sort key on that are due by an instant; `next` = the sort key at which to continue. */
export async function readReady(
  { table }: StoreContext,
  partition: Log,
  page: { readonly from: string; readonly dueBy: number; readonly limit: number },
): Promise<{ readonly entries: readonly ReadyEntry[]; readonly next: string | undefined }> {
  const pk = readyCollection(partition);
  const { from, dueBy, limit } = page;
  const range = { from, to: readyUntil(dueBy), limit, consistent: true };
  const { items, next } = await table.range(pk, range);
  return {
    next,
    entries: items.map((item) => {
      const sk = item['sk']?.S ?? '';
      const bytes = item['x']?.B;
      const block = item['b']?.S;
      return {
        key: { pk, sk },
        sessionId: sessionOf(sk) ?? '',
        dueAt: readyInstant(sk),
        ...(bytes === undefined ? {} : { stamp: { bytes, count: Number(item['c']?.N ?? 0) } }),
        ...(block === undefined ? {} : { block }),
      };
    }),
  };
}

/** Whether the holder of a session has an entry for the end of its lock, and will have it long enough to rely on. */
export function hasLockEntry(session: Session, log: Log, now: number): boolean {
  return liveLock(session, log, now + CLOCK_SKEW_MS)?.generation === log.generation;
}

/**
 * Whether the entry of an empty session without a holder may be removed. A scan that looks ahead also reads entries of
 * processes that are accepting a session and write its lock next; those entries must stay.
 */
export function isRemovable(
  { key, stamp, dueAt }: ReadyEntry,
  { lock }: Session,
  now: number,
): boolean {
  return stamp !== undefined || dueAt <= now || key.sk === lock?.entryKey;
}

/** Reads the items of sessions, by their logs' names. One read unit each. */
export async function readSessions(
  context: StoreContext,
  sessions: readonly Log[],
): Promise<ReadonlyMap<string, Session>> {
  const known = sessions.map(async (session) => {
    return [logName(session), await readSession(context, session)] as const;
  });
  return new Map(await Promise.all(known));
}

/**
 * Adds those of `logs` that are sessions, after messages were stored in them. `before` = the sessions as they were read
 * a moment ago: a session with a holder then is read again, since the holder may have found it empty and released it
 * just before the message was stored. `blocks` = for each the sort key of a stored block. Throws ServiceTimeout: the
 * messages are stored, but may not be received before the next send to their session, or the sweep.
 */
export async function addReady(
  context: StoreContext,
  logs: readonly Log[],
  {
    before,
    blocks,
  }: {
    readonly before?: ReadonlyMap<string, Session>;
    readonly blocks?: ReadonlyMap<string, string>;
  } = {},
): Promise<void> {
  const sessions = logs.filter(isSession);
  try {
    await Promise.all(
      sessions.map((session) => {
        const name = logName(session);
        return addOne(context, session, before?.get(name), blocks?.get(name));
      }),
    );
  } catch (error) {
    throw unknownOutcome(error);
  }
  wakeForSessions(context, sessions);
}

async function addOne(
  context: StoreContext,
  session: Log,
  before: Session | undefined,
  block: string | undefined,
): Promise<void> {
  const { table, clock, random } = context;
  const now = clock.now();
  const mayHaveEntry = before === undefined || hasLockEntry(before, session, now);
  if (mayHaveEntry && hasLockEntry(await readSession(context, session), session, now)) return;
  await table.update(waitingKey(session, now), {
    // The count keeps a write that was repeated after a lost answer from restoring an old stamp.
    UpdateExpression: `SET x = :stamp${block === undefined ? '' : ', b = :block'}${session.isConsumed ? `, ${CONSUMER_MARK} = :mark` : ''} ADD c :one`,
    ExpressionAttributeValues: {
      ...(session.isConsumed && { ':mark': { N: CONSUMER_MARKS.ready } }),
      ...(block !== undefined && { ':block': { S: block } }),
      ':stamp': { B: random.bytes(STAMP_BYTES) },
      ':one': { N: '1' },
    },
  });
}
