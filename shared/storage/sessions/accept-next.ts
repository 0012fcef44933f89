import type { AcceptedSession, AcceptNextRequest } from '../../broker/ports/sessions.ts';
import { surveyBlock } from '../../domain/blocks/block.ts';
import { inSession, type Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { outcomeOf } from '../dynamodb/outcome-of.ts';
import { FIRST_BLOCK, FIRST_LISTING, logName, sessionKey } from '../schema/message-keys.ts';
import { tidy } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { lockSession } from './lock.ts';
import {
  isListed,
  type Listing,
  mayBeStruckOff,
  newLockListing,
  putLockListing,
  readListings,
  strikeOff,
} from './ready-index.ts';
import { isBare } from './release.ts';
import {
  liveLock,
  readSession,
  rulesFrom,
  type Session,
  type SessionLock,
} from './session-item.ts';

const PAGE_LISTINGS = 25;
const PAGE_BLOCKS = 4;
/** How many sessions are looked at at once: mostly the first is the one. */
const LOOKS = [1, 4, 20];

/**
 * Locks the session that has waited longest: one query for the first listings, one look at a session,
 * three small writes. Listings without need that stand in front are struck off on the way.
 */
export async function acceptNext(
  context: StoreContext,
  partition: Log,
  request: AcceptNextRequest,
  { accepting, lookedThrough }: AcceptMemory,
): Promise<AcceptedSession | undefined> {
  const now = context.clock.now();
  const walk = { context, partition, request, accepting };
  let found = await walkListings(walk, now);
  for (let walks = 1; found === undefined && !(await areOthersHeld(walk)); walks++) {
    if (walks === WALKS_MAX) throw othersFailed();
    found = await walkListings(walk, now);
  }
  const { brokenUntil = now } = request;
  if (found !== undefined || brokenUntil <= now || lookedThrough.has(partition)) return found;
  // Locks that a change of the entity ended are listed for the ends they would have had. Once none of
  // them is left, all that is listed for later belongs to locks that were taken since.
  const broken = await walkListings(walk, brokenUntil);
  if (broken === undefined) lookedThrough.add(partition);
  return broken;
}

/** How often the listings are walked while other calls fail to accept what this one passed by. */
const WALKS_MAX = 3;

/**
 * Whether the sessions that this call passed by, because other calls of this process were accepting them, are
 * held now. Where one of those failed, its session may be free.
 */
async function areOthersHeld({ partition, accepting }: Walk): Promise<boolean> {
  const prefix = `${logName(partition)}/`;
  const others = [...accepting].flatMap(([name, isHeld]) =>
    name.startsWith(prefix) ? [isHeld] : [],
  );
  return (await Promise.all(others)).every(Boolean);
}

function othersFailed(): BrokerError {
  return new BrokerError('ServiceBusy', 'Sessions could not be accepted just now. Try again.', {
    subCode: '50009',
  });
}

/** What a process remembers of accepting sessions. */
export interface AcceptMemory {
  /**
   * Sessions that this process is accepting, and whether that succeeds; other calls pass them by rather
   * than lose a race.
   */
  readonly accepting: Map<string, Promise<boolean>>;
  readonly lookedThrough: LookedThrough;
}

const LOGS_MAX = 10_000;

/** Since which change of an entity no lock is left in a partition that one ended before its time. */
export class LookedThrough {
  readonly #epochs = new Map<string, number | undefined>();

  has(partition: Log): boolean {
    const epoch = partition.sessions?.epoch;
    return this.#epochs.has(logName(partition)) && this.#epochs.get(logName(partition)) === epoch;
  }

  add(partition: Log): void {
    if (this.#epochs.size >= LOGS_MAX) this.#epochs.clear();
    this.#epochs.set(logName(partition), partition.sessions?.epoch);
  }
}

interface Walk {
  readonly context: StoreContext;
  readonly partition: Log;
  readonly request: AcceptNextRequest;
  readonly accepting: Map<string, Promise<boolean>>;
}

async function walkListings(walk: Walk, dueBy: number): Promise<AcceptedSession | undefined> {
  const { context, partition } = walk;
  let from: string | undefined = FIRST_LISTING;
  let looks = 0;
  while (from !== undefined) {
    const page = await readListings(context, partition, { from, dueBy, limit: PAGE_LISTINGS });
    let rest = page.listings;
    while (rest.length > 0) {
      const count = LOOKS[Math.min(looks++, LOOKS.length - 1)] ?? 1;
      const { accepted, isRace } = await considerAll(walk, rest.slice(0, count));
      if (accepted !== undefined) return accepted;
      rest = rest.slice(count);
      // Others are at the same sessions: go on anywhere, so as not to meet them again and again.
      if (isRace) rest = rotated(rest, context.random);
    }
    from = page.next;
  }
  return undefined;
}

/** Strikes off the listings without need that have come due: where nobody asks for the next session. */
export async function cleanReadyIndex(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
): Promise<void> {
  const walk = { context, partition, request: { policy, lockMs: 0 }, accepting: new Map() };
  const dueBy = context.clock.now();
  let from: string | undefined = FIRST_LISTING;
  while (from !== undefined) {
    const page = await readListings(context, partition, { from, dueBy, limit: PAGE_LISTINGS });
    await Promise.all(page.listings.map((listing) => consider(walk, listing)));
    from = page.next;
  }
}

/** Looks at sessions at once, and takes the first that can be had. */
async function considerAll(
  walk: Walk,
  listings: readonly Listing[],
): Promise<{ readonly accepted: AcceptedSession | undefined; readonly isRace: boolean }> {
  const considered = await Promise.all(listings.map((listing) => consider(walk, listing)));
  let isRace = false;
  for (const [i, isWaiting] of considered.entries()) {
    const listing = listings[i];
    if (!isWaiting || listing === undefined) continue;
    const accepted = await take(walk, listing);
    if (accepted !== undefined) return { accepted, isRace };
    isRace = true;
  }
  return { accepted: undefined, isRace };
}

function rotated(listings: readonly Listing[], random: RandomSource): readonly Listing[] {
  const [byte = 0] = random.bytes(1);
  const start = listings.length === 0 ? 0 : byte % listings.length;
  return [...listings.slice(start), ...listings.slice(0, start)];
}

async function take(
  { context, partition, request, accepting }: Walk,
  listing: Listing,
): Promise<AcceptedSession | undefined> {
  const session = inSession(partition, listing.sessionId);
  const name = logName(session);
  if (accepting.has(name)) return undefined;
  const locking = lockSession(context, session, request.lockMs);
  // Held by somebody then, whoever was faster; only a failure leaves it free.
  const isHeld = outcomeOf(locking).then((outcome) => 'value' in outcome);
  accepting.set(name, isHeld);
  try {
    const accepted = await locking;
    // Whoever was faster deals with the listing.
    if (accepted !== undefined) await strikeOff(context, listing);
    return accepted;
  } finally {
    accepting.delete(name);
  }
}

/** Whether a listed session can be had; a listing without need is struck off. */
async function consider(walk: Walk, listing: Listing): Promise<boolean> {
  const { context, partition, request, accepting } = walk;
  const session = inSession(partition, listing.sessionId);
  if (accepting.has(logName(session))) return false;
  // Before both looks: a sender who relies on a lock that ended later has its message found.
  const now = context.clock.now();
  const [known, front] = await Promise.all([
    readSession(context.table, session),
    readBlocks(context, session, { from: FIRST_BLOCK, limit: PAGE_BLOCKS, consistent: true }),
  ]);
  const lock = liveLock(known, session, now);
  if (lock !== undefined) {
    await putAside(context, session, listing, lock, now);
    return false;
  }
  const { policy } = request;
  const rules = { ...policy.rules, session: rulesFrom(known, session, now) };
  if (await hasMessages(context, session, { ...policy, rules }, front)) return true;
  if (mayBeStruckOff(listing, known, now)) await leave(context, session, listing, known);
  return false;
}

/** The listing of a session that somebody holds: the one for the end of the lock is enough. */
async function putAside(
  context: StoreContext,
  session: Log,
  listing: Listing,
  lock: SessionLock,
  now: number,
): Promise<void> {
  const isOfLock = listing.key.sk === lock.listing && lock.generation === session.generation;
  if (!isOfLock) {
    if (isListed({ released: [], lock }, session, now)) await strikeOff(context, listing);
    return;
  }
  // It came due, but the lock was renewed meanwhile. Not due: somebody looked ahead.
  if (listing.dueAt > now) return;
  const { table } = context;
  const later = newLockListing(context, session, lock.lockedUntil);
  await putLockListing(context, session, later);
  const moved = await table.update(sessionKey(session), {
    UpdateExpression: 'SET e = :later',
    ConditionExpression: 'k = :token AND e = :listing',
    ExpressionAttributeValues: {
      ':later': { S: later },
      ':token': { B: lock.token },
      ':listing': { S: lock.listing },
    },
  });
  if (moved.done) await strikeOff(context, listing);
}

/**
 * Whether a session that nobody holds has a message to hand out. What is expired or used up on the way
 * is put where it belongs.
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
    await tidy(context, session, policy, surveys);
    const { next: from } = page;
    if (from === undefined) return false;
    page = await readBlocks(context, session, { from, limit: PAGE_BLOCKS, consistent: true });
  }
}

/** Leaves a session that has nothing to hand out, and forgets it where nothing else is known of it. */
async function leave(
  context: StoreContext,
  session: Log,
  listing: Listing,
  known: Session,
): Promise<void> {
  await strikeOff(context, listing);
  if (known.state !== undefined || !(await isBare(context, session))) return;
  if (known.lock === undefined && known.released.length === 0) return;
  await context.table.delete(sessionKey(session), asSeen(known));
}

/** The condition that nobody has taken, renewed, given back or set anything in a session since it was read. */
function asSeen({ lock, released }: Session) {
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
