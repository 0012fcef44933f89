import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { inTurns } from '../../domain/turns/in-turns.ts';
import { unknownOutcome } from '../dynamodb/errors.ts';
import { type Item, type ItemKey, keyItem, type Table } from '../dynamodb/table.ts';
import {
  listingCollection,
  listingInstant,
  listingSortKey,
  listingsUntil,
  logName,
  sessionOf,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { liveLock, readSession, type Session } from './session-item.ts';

/**
 * Listings tell which sessions may have messages that nobody holds, in the order in which they began
 * to wait, so that accepting the next one costs the same among a hundred sessions and a hundred
 * thousand. What always holds:
 *
 * - A session that has messages and that nobody holds has a listing that has come due.
 * - A session that somebody holds has one for the end of its lock, named by its item; senders to it
 *   write none.
 * - A listing without need does no harm; who comes across it strikes it off.
 *
 * A message is stored before its session is listed. So a session that is found empty may be struck
 * off, unless it was listed anew in between: each listing has a stamp of its own.
 */
export interface Listing {
  readonly key: ItemKey;
  readonly sessionId: string;
  /** Epoch ms. */
  readonly dueAt: number;
  /** Absent in listings for the end of a lock, whose names are never used twice. */
  readonly stamp?: { readonly bytes: Uint8Array; readonly count: number };
}

const STAMP_BYTES = 6;
/** Sends to one session within a second make one listing. */
const STEP_MS = 1000;

function waitingKey(session: Log, now: number): ItemKey {
  const instant = Math.floor(now / STEP_MS) * STEP_MS;
  return { pk: listingCollection(session), sk: listingSortKey(instant, session, '') };
}

/**
 * The items that list those of some logs that are sessions, each once; for transactions. There may be
 * very many: they are made in turns of `peer`.
 */
export async function listingItems(
  { random, workTurns }: StoreContext,
  logs: readonly Log[],
  now: number,
  peer: object = {},
): Promise<readonly Item[]> {
  const items = new Map<string, Item>();
  await inTurns(workTurns, peer, logs, (log) => {
    if (!isSession(log) || items.has(logName(log))) return;
    items.set(logName(log), {
      ...keyItem(waitingKey(log, now)),
      x: { B: random.bytes(STAMP_BYTES) },
      c: { N: '1' },
    });
  });
  return [...items.values()];
}

function isSession({ sessionId }: Log): boolean {
  return sessionId !== undefined;
}

/** Tells those of this process who wait for a session. */
export function announceWaiting(context: StoreContext, logs: readonly Log[]): void {
  const rooms = new Set(logs.filter(isSession).map((log) => logName(withoutSession(log))));
  for (const room of rooms) context.wake(room);
}

/** The sort key of a listing for the end of a lock, which nobody else has. */
export function newLockListing(context: StoreContext, session: Log, lockedUntil: number): string {
  const name = Buffer.from(context.random.bytes(STAMP_BYTES)).toString('base64url');
  return listingSortKey(lockedUntil, session, name);
}

/** Writes the listing for the end of a lock. */
export async function putLockListing(
  { table }: StoreContext,
  session: Log,
  sortKey: string,
): Promise<void> {
  await table.put(keyItem({ pk: listingCollection(session), sk: sortKey }));
}

/** Deletes a listing that is known by its name; such names are never used twice. */
export async function deleteLockListing(
  { table }: StoreContext,
  session: Log,
  { listing, generation }: { readonly listing: string; readonly generation: number },
): Promise<void> {
  await table.delete({ pk: listingCollection({ ...session, generation }), sk: listing });
}

/** Strikes a listing off, unless its session was listed anew since it was read. */
export async function strikeOff({ table }: StoreContext, { key, stamp }: Listing): Promise<void> {
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

/** Listings from one sort key on that have come due by an instant; `next` = where to go on. */
export async function readListings(
  { table }: StoreContext,
  partition: Log,
  page: { readonly from: string; readonly dueBy: number; readonly limit: number },
): Promise<{ readonly listings: readonly Listing[]; readonly next: string | undefined }> {
  const pk = listingCollection(partition);
  const { items, lastKey } = await table.query({
    KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':pk': { S: pk },
      ':from': { S: page.from },
      ':to': { S: listingsUntil(page.dueBy) },
    },
    ConsistentRead: true,
    Limit: page.limit,
  });
  const last = lastKey?.['sk']?.S;
  return {
    listings: items.map((item) => {
      const sk = item['sk']?.S ?? '';
      const bytes = item['x']?.B;
      return {
        key: { pk, sk },
        sessionId: sessionOf(sk) ?? '',
        dueAt: listingInstant(sk),
        ...(bytes === undefined ? {} : { stamp: { bytes, count: Number(item['c']?.N ?? 0) } }),
      };
    }),
    next: last === undefined ? undefined : `${last}!`,
  };
}

/** Clocks of two machines differ by less, ms. */
const CLOCK_SKEW_MS = 1000;

/** Whether a session is listed by whoever holds it, now and for long enough to rely on it. */
export function isListed(session: Session, log: Log, now: number): boolean {
  return liveLock(session, log, now + CLOCK_SKEW_MS)?.generation === log.generation;
}

/**
 * Whether the listing of a session that nobody holds, and that has nothing to hand out, may be struck off. Whoever
 * looks ahead also comes across listings of those who are accepting a session, and write its lock next.
 */
export function mayBeStruckOff(
  { key, stamp, dueAt }: Listing,
  { lock }: Session,
  now: number,
): boolean {
  return stamp !== undefined || dueAt <= now || key.sk === lock?.listing;
}

/** What is known of sessions, by their names. */
export async function readSessions(
  table: Table,
  sessions: readonly Log[],
): Promise<ReadonlyMap<string, Session>> {
  const known = sessions.map(async (session) => {
    return [logName(session), await readSession(table, session)] as const;
  });
  return new Map(await Promise.all(known));
}

/**
 * Lists those of some logs that are sessions, after messages were stored in them. `before` holds what
 * was known of them a moment ago: where somebody held a session then, it is looked at again, since the
 * holder may have found it empty and given it back just before the message came. Throws ServiceTimeout:
 * the messages are there, but may not be found before they are sent once more, or until the sweep.
 */
export async function enlist(
  context: StoreContext,
  logs: readonly Log[],
  before: ReadonlyMap<string, Session> = new Map(),
): Promise<void> {
  const sessions = logs.filter(isSession);
  try {
    await Promise.all(
      sessions.map((session) => enlistOne(context, session, before.get(logName(session)))),
    );
  } catch (error) {
    throw unknownOutcome(error);
  }
  announceWaiting(context, sessions);
}

async function enlistOne(
  context: StoreContext,
  session: Log,
  before: Session | undefined,
): Promise<void> {
  const { table, clock, random } = context;
  const now = clock.now();
  const mayBeListed = before === undefined || isListed(before, session, now);
  if (mayBeListed && isListed(await readSession(table, session), session, now)) return;
  await table.update(waitingKey(session, now), {
    // Counted, too: a write repeated after its answer was lost must not bring an old stamp back.
    UpdateExpression: 'SET x = :stamp ADD c :one',
    ExpressionAttributeValues: {
      ':stamp': { B: random.bytes(STAMP_BYTES) },
      ':one': { N: '1' },
    },
  });
}
