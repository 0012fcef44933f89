import type { ListSessionsOptions } from '../../broker/session-types.ts';
import { type Block, type BlockSurvey, surveyBlock } from '../../domain/blocks/block.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionLockState } from '../../domain/blocks/session.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import {
  AFTER_SECTIONS,
  AFTER_SESSIONS,
  FIRST_READY,
  FIRST_SESSION,
  logKey,
  sessionOf,
  sessionPrefix,
  sessionsCollection,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { addReady, readReady } from './ready-index.ts';
import { parseSession, readSession, toLockState } from './session-item.ts';

const PAGE_ITEMS = 200;

/** Ids of the first sessions in the order of their keys (semantics S11); see `SessionStore.list`. */
export async function listSessions(
  context: StoreContext,
  partition: Log,
  { top, updatedAfter }: Omit<ListSessionsOptions, 'skip'>,
  policy: LogPolicy,
): Promise<readonly string[]> {
  const sessions =
    updatedAfter === undefined
      ? withMessages(context, partition, policy, isAnyFree)
      : withState(context, partition, updatedAfter);
  const found: string[] = [];
  for await (const session of sessions) {
    found.push(session);
    if (found.length >= top) break;
  }
  return found;
}

async function* withState(
  context: StoreContext,
  partition: Log,
  updatedAfter: number,
): AsyncGenerator<string> {
  for await (const item of itemsOf(context, sessionsCollection(partition))) {
    const { state } = parseSession(item);
    if (state !== undefined && state.setAt > updatedAfter) yield sessionOf(keyOf(item)) ?? '';
  }
}

/**
 * The sessions with a block of which `counts` is true, or with active messages (semantics #98). Skips the rest of a
 * session's messages once it found one.
 */
async function* withMessages(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
  counts: (survey: BlockSurvey) => boolean,
): AsyncGenerator<string> {
  const { table, clock } = context;
  let from: string | undefined = FIRST_SESSION;
  let found: string | undefined;
  while (from !== undefined) {
    const page = await pageOf(table, logKey(partition), from);
    for (const item of page.items) {
      const session = sessionOf(keyOf(item));
      if (session === undefined || session === found) continue;
      const block = fromBlockItem(item);
      const isOpen = block.section === 'live' || block.section === 'returned';
      if (!isOpen) continue;
      const survey = surveyBlock(block, unlocked(policy), clock.now());
      if (!counts(survey) && !(await isActive(context, partition, session, policy, block)))
        continue;
      found = session;
      yield session;
    }
    const next: string | undefined = page.next;
    const isRest = next !== undefined && sessionOf(next) === found;
    from = isRest
      ? `${sessionPrefix(logOfSession(partition, found ?? ''))}${AFTER_SECTIONS}`
      : next;
  }
}

const isAnyFree = ({ free }: BlockSurvey) => free.length > 0;

/**
 * Adds sessions with messages but without an index entry, which a send leaves if it is cut off between the two. Also
 * those whose messages have all expired since: whoever accepts the next session dead-letters them.
 */
export async function addMissingSessions(
  context: StoreContext,
  partition: Log,
  policy: LogPolicy,
): Promise<void> {
  const indexed = new Set<string>();
  const all = { dueBy: FAR_AWAY, limit: PAGE_ITEMS };
  let from: string | undefined = FIRST_READY;
  while (from !== undefined) {
    const page = await readReady(context, partition, { ...all, from });
    for (const { sessionId } of page.entries) indexed.add(sessionId);
    from = page.next;
  }
  for await (const sessionId of withMessages(context, partition, policy, isForReceivers)) {
    if (!indexed.has(sessionId)) await addReady(context, [logOfSession(partition, sessionId)]);
  }
}

const isForReceivers = ({ free, expired }: BlockSurvey) => free.length + expired.length > 0;

/** Epoch ms; no lock lasts until then. */
const FAR_AWAY = 0xffff_ffff_ffff;

/**
 * Whether a message on its last delivery counts as active (semantics #98): it is locked, or its session was released.
 */
async function isActive(
  context: StoreContext,
  partition: Log,
  sessionId: string,
  { rules }: LogPolicy,
  block: Block,
): Promise<boolean> {
  const log = logOfSession(partition, sessionId);
  const now = context.clock.now();
  const session = toLockState(await readSession(context, log), log, now);
  const { free, nextFreeAt } = surveyBlock(block, { ...rules, session }, now);
  return free.length > 0 || nextFreeAt !== undefined;
}

/** Locked messages count as active too. */
function unlocked({ rules }: LogPolicy) {
  return { ...rules, session: { released: [] } };
}

function keyOf(item: Item): string {
  return item['sk']?.S ?? '';
}

/** The first sessions of a partition: the states of their locks, and the bytes of their states. */
export interface SessionsOverview {
  readonly locks: ReadonlyMap<string, SessionLockState>;
  readonly stateBytes: number;
  /** Whether there are no others. */
  readonly areAll: boolean;
}

/** Reads the session items of a partition, `max` at most. */
export async function readSessions(
  context: Pick<StoreContext, 'table' | 'clock'>,
  partition: Log,
  max = Number.POSITIVE_INFINITY,
): Promise<SessionsOverview> {
  const now = context.clock.now();
  const locks = new Map<string, SessionLockState>();
  let stateBytes = 0;
  for await (const item of itemsOf(context, sessionsCollection(partition))) {
    if (locks.size === max) return { locks, stateBytes, areAll: false };
    const session = parseSession(item);
    locks.set(sessionOf(keyOf(item)) ?? '', toLockState(session, partition, now));
    stateBytes += session.state?.bytes ?? 0;
  }
  return { locks, stateBytes, areAll: true };
}

async function* itemsOf(
  { table }: Pick<StoreContext, 'table'>,
  collection: string,
): AsyncGenerator<Item> {
  let from: string | undefined = FIRST_SESSION;
  while (from !== undefined) {
    const page: Page = await pageOf(table, collection, from);
    yield* page.items;
    from = page.next;
  }
}

type Page = Awaited<ReturnType<Table['range']>>;

async function pageOf(table: Table, collection: string, from: string): Promise<Page> {
  const range = { from, to: AFTER_SESSIONS, limit: PAGE_ITEMS, consistent: true };
  return await table.range(collection, range);
}
