import type {
  AcceptedSession,
  AcceptedSessions,
  AcceptNextRequest,
} from '../../broker/ports/sessions.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { type BrokerError, serviceBusy } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { resultOf } from '../../domain/result-of.ts';
import { FIRST_READY, logName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import type { AcceptMemory, Attempt } from './accept-memory.ts';
import { considerSession, keepEntryOf } from './consider-session.ts';
import { lockSession } from './lock.ts';
import { type ReadyEntry, readReady, removeReady } from './ready-index.ts';

const PAGE_ENTRIES = 25;
/** How many sessions are read at the same time; usually the first one can be accepted. */
const LOOKS = [1, 4, 20];

/**
 * Locks the sessions that have waited longest (semantics #87), as many as are wanted: one query for the first entries,
 * then for each session one read of its messages and three small writes. Removes unneeded entries in front of them.
 * Fewer than wanted and no failure = no other session is ready. Throws if it accepted none and failed; ServiceBusy if
 * other calls of this process failed to accept the sessions that this call left to them.
 */
export async function acceptSeveral(
  context: StoreContext,
  partition: Log,
  request: AcceptNextRequest,
  wanted: number,
  memory: AcceptMemory,
): Promise<AcceptedSessions> {
  const sessions: AcceptedSession[] = [];
  const search = { context, partition, request, memory, wanted, sessions };
  try {
    await searchAll(search);
    return { sessions };
  } catch (error) {
    if (sessions.length === 0) throw error;
    return { sessions, failure: error };
  }
}

async function searchAll(search: Search): Promise<void> {
  const { context, partition, request, memory } = search;
  const now = context.clock.now();
  let isLate = false;
  for (let searches = 1; ; searches++) {
    const looksAtAll = isLate || searches === SEARCHES_MAX;
    const left = await searchReady({ ...search, looksAtAll }, now);
    if (isEnough(search)) break;
    // If another call failed to accept a session that this one left to it, the session may be free.
    const outcome = await outcomeOf(context, left, looksAtAll ? undefined : LEFT_MS_MAX);
    if (outcome === 'held') break;
    if (searches === SEARCHES_MAX) throw othersFailed();
    isLate ||= outcome === 'late';
  }
  const { brokenUntil = now } = request;
  if (isEnough(search) || brokenUntil <= now || memory.lookedThrough.has(partition)) return;
  // A lock that a change of the entity ended has its entry at the end that the lock would have had. Once none of
  // those is left, all later entries belong to locks that were taken since the change.
  const before = search.sessions.length;
  const left = await searchReady({ ...search, looksAtAll: true }, brokenUntil);
  if (search.sessions.length === before && left.length === 0) memory.lookedThrough.add(partition);
}

/** How often one call reads the index: again each time that another call failed to accept a session left to it. */
const SEARCHES_MAX = 3;

/**
 * How long one call waits for what it left to others, ms. Then it looks itself at what they only look at, and waits for
 * those that are taking a session.
 */
const LEFT_MS_MAX = 500;

/** Whether all sessions left to other calls are held now, or one is not, or that takes longer than `msMax`. */
async function outcomeOf(
  { scheduler }: StoreContext,
  left: readonly Promise<boolean>[],
  msMax: number | undefined,
): Promise<'held' | 'free' | 'late'> {
  return await new Promise((resolve) => {
    const timer =
      msMax === undefined || left.length === 0
        ? undefined
        : scheduler.after(msMax, () => resolve('late'));
    void Promise.all(left).then((held) => {
      timer?.cancel();
      resolve(held.every(Boolean) ? 'held' : 'free');
    });
  });
}

const othersFailed = (): BrokerError =>
  serviceBusy('Sessions could not be accepted just now. Try again.', { subCode: '50009' });

interface Search {
  readonly context: StoreContext;
  readonly partition: Log;
  readonly request: AcceptNextRequest;
  readonly memory: AcceptMemory;
  readonly wanted: number;
  /** Those accepted so far. */
  readonly sessions: AcceptedSession[];
  /** Whether it leaves no session to other calls that only look at it. */
  readonly looksAtAll?: boolean;
}

function isEnough({ wanted, sessions }: Search): boolean {
  return sessions.length >= wanted;
}

/** Returns whether each of the sessions that were left to other calls is held. */
async function searchReady(search: Search, dueBy: number): Promise<readonly Promise<boolean>[]> {
  const { context, partition, wanted, sessions } = search;
  const left: Promise<boolean>[] = [];
  let from: string | undefined = FIRST_READY;
  let looks = 0;
  while (from !== undefined && !isEnough(search)) {
    const limit = Math.max(PAGE_ENTRIES, wanted);
    const page = await readReady(context, partition, { from, dueBy, limit });
    let rest = page.entries;
    while (rest.length > 0 && !isEnough(search)) {
      const least = LOOKS[Math.min(looks, LOOKS.length - 1)] ?? 1;
      const count = Math.max(least, wanted - sessions.length);
      const { isRace, looked } = await considerAll(search, rest.slice(0, count), left, looks === 0);
      if (looked > 0) looks++;
      rest = rest.slice(count);
      // Other processes accept the same sessions: continue at a random place to avoid more races.
      if (isRace) rest = rotated(rest, context.random);
    }
    from = page.next;
  }
  return left;
}

/** Removes unneeded entries that are due, in partitions where no client accepts the next session. */
export async function cleanReadyIndex(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
): Promise<void> {
  const dueBy = context.clock.now();
  let from: string | undefined = FIRST_READY;
  while (from !== undefined) {
    const page = await readReady(context, partition, { from, dueBy, limit: PAGE_ENTRIES });
    const considered = page.entries.map((entry) =>
      considerSession(context, logOfSession(partition, entry.sessionId), entry, policy),
    );
    await Promise.all(considered);
    from = page.next;
  }
}

/**
 * Reads sessions at the same time, and accepts the first that are ready. `isRace` = others were faster at one of them;
 * `looked` = how many it did not leave to other calls. The `isFirst` sessions of a search are most probably free.
 */
async function considerAll(
  search: Search,
  entries: readonly ReadyEntry[],
  left: Promise<boolean>[],
  isFirst: boolean,
): Promise<{ readonly isRace: boolean; readonly looked: number }> {
  const tries = begin(search, entries, left);
  try {
    const { context, request } = search;
    const considered = await Promise.all(
      tries.map(({ session, entry }) =>
        considerSession(context, session, entry, request.policy, isFirst),
      ),
    );
    let isRace = false;
    let ready = tries.filter((_, i) => considered[i]);
    while (ready.length > 0 && !isEnough(search)) {
      const count = search.wanted - search.sessions.length;
      const taken = await Promise.all(
        ready.slice(0, count).map((one) => resultOf(take(search, one))),
      );
      ready = ready.slice(count);
      for (const one of taken) {
        if ('value' in one && one.value !== undefined) search.sessions.push(one.value);
        else isRace = true;
      }
      // Thrown once none is under way whose session would be lost.
      for (const one of taken) if ('error' in one) throw one.error;
    }
    return { isRace, looked: tries.length };
  } finally {
    for (const { attempt, name } of tries) search.memory.end(name, attempt);
  }
}

/** An entry that a call looks at. */
interface Try {
  readonly entry: ReadyEntry;
  readonly session: Log;
  /** The name of the session. */
  readonly name: string;
  readonly attempt: Attempt;
}

/** Begins to look at those sessions that this call does not leave to others; adds the outcomes of these to `left`. */
function begin(
  { memory, partition, looksAtAll }: Search,
  entries: readonly ReadyEntry[],
  left: Promise<boolean>[],
): readonly Try[] {
  const tries = new Map<string, Try>();
  for (const entry of entries) {
    const session = logOfSession(partition, entry.sessionId);
    const name = logName(session);
    // The page was read before this process locked the session.
    if (tries.has(name) || memory.hasTaken(nameOf(entry))) continue;
    const other = memory.attempts.get(name);
    if (other === undefined || (looksAtAll && !other.isTaking)) {
      tries.set(name, { entry, session, name, attempt: memory.begin(name) });
    } else left.push(other.isHeld);
  }
  return [...tries.values()];
}

function rotated(entries: readonly ReadyEntry[], random: RandomSource): readonly ReadyEntry[] {
  const [byte = 0] = random.bytes(1);
  const start = entries.length === 0 ? 0 : byte % entries.length;
  return [...entries.slice(start), ...entries.slice(0, start)];
}

async function take(
  { context, request, memory }: Search,
  { entry, session, attempt, name }: Try,
): Promise<AcceptedSession | undefined> {
  attempt.isTaking = true;
  const locking = await lockSession(context, session, request.lockMs);
  // It is held now, by this call or a faster one; only a failure leaves it free.
  memory.end(name, attempt, true);
  const { accepted } = locking;
  if (accepted === undefined) {
    // A holder that accepted the session by its id leaves the entry.
    context.background(() => keepEntryOf(context, session, entry, locking.holder));
    return undefined;
  }
  memory.noteTaken(nameOf(entry));
  if ('error' in (await resultOf(removeReady(context, entry)))) {
    context.background(() => removeReady(context, entry));
  }
  return accepted;
}

function nameOf({ key, stamp }: ReadyEntry): string {
  const bytes = stamp && Buffer.from(stamp.bytes).toString('base64url');
  return [key.pk, key.sk, bytes, stamp?.count].join(' ');
}
