import type { Peeked, PeekRequest } from '../../broker/ports/messages.ts';
import { type Block, ownExpiryOf, sequenceNumberOf, slotOf } from '../../domain/blocks/block.ts';
import { type BlockSection, SLOTS_MAX } from '../../domain/blocks/lock-token.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { UNLOCKED_SESSION } from '../../domain/blocks/session.ts';
import { failedDeliveries } from '../../domain/blocks/slot.ts';
import type { MessageState, StoredMessage } from '../../domain/messages/message.ts';
import { holdPayloads } from '../../domain/messages/payload-account.ts';
import { sizeOf } from '../blocks/pack-blocks.ts';
import { type LoadedMessages, loadMessages } from '../blocks/payloads.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { activateDue } from '../scheduling/activate.ts';
import { blockSortKey } from '../schema/message-keys.ts';
import { lockStatesOf } from '../sessions/session-item.ts';
import type { StoreContext } from '../store-context.ts';
import { lowestOf, type MessagePosition, positionsIn } from './positions.ts';
import { positionsInSessions } from './positions-in-sessions.ts';

const SEQUENCE_MAX = 0xffff_ffff_ffffn;
const PAGE_BLOCKS_MAX = 100;
/** How often a peek looks further, where receivers have taken all that it found. */
const LOOKS_MAX = 20;
/** How many numbers one block covers at most. */
const SPAN = BigInt(SLOTS_MAX);

/**
 * Returns messages in order of their numbers, in any state, without locking them: active, locked, deferred and
 * scheduled ones (semantics #73, L8), and expired ones that were not cleaned up yet (semantics L9, #A4).
 */
export async function peek(context: StoreContext, log: Log, request: PeekRequest): Promise<Peeked> {
  const now = context.clock.now();
  await activateDue(context, withoutSession(log), now);
  const isOfAllSessions = log.sessions !== undefined && log.sessionId === undefined;
  const find = isOfAllSessions ? inAllSessions : inOneLog;
  const { there, loaded, isMore } = await firstThere(context, log, request, find);
  const locks = isOfAllSessions ? await lockStatesOf(context, log, delivered(there)) : undefined;

  const shown: StoredMessage[] = [];
  let bytes = 0;
  for (const { block, slotIndex, sequence, sessionId } of there) {
    const session = locks?.get(sessionId ?? '') ?? UNLOCKED_SESSION;
    const rules = locks === undefined ? request.rules : { ...request.rules, session };
    const content = loaded.at(block, slotIndex);
    bytes += sizeOf(content);
    if (shown.length > 0 && bytes > request.maxBytes) return { messages: shown, isCut: true };
    // Shows only an expiry by the message's own time to live. One by the entity's default is not fixed yet
    // (semantics #A12, #A11, W19, L10).
    const expiresAt = ownExpiryOf(block, slotOf(block, slotIndex));
    shown.push({
      message: content,
      sequenceNumber: sequenceNumberOf(log.partition, sequence),
      enqueuedAt: block.enqueuedAt,
      failedDeliveries: failedDeliveries(slotOf(block, slotIndex), rules, now),
      state: STATES[block.section],
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(content.timeToLiveMs === undefined ? {} : { timeToLiveMs: content.timeToLiveMs }),
    });
  }
  return { messages: shown, isCut: isMore };
}

/** The first messages that are still there when they are loaded; `isMore` = there may be more behind them. */
async function firstThere(
  context: StoreContext,
  log: Log,
  request: PeekRequest,
  find: typeof inOneLog,
): Promise<Loaded> {
  const { maxMessages } = request;
  let { from } = request;
  for (let look = 1; ; look++) {
    const positions = lowestOf(await find(context, log, { from, maxMessages }), maxMessages);
    const loaded = await loadFirst(context, log, positions, request);
    const isAtEnd = positions.length < maxMessages;
    if (loaded.there.length > 0 || isAtEnd || look === LOOKS_MAX)
      return { ...loaded, isMore: loaded.isMore || !isAtEnd };
    // Receivers took all of them meanwhile. An answer without messages would say that there are no more.
    from = (positions.at(-1)?.sequence ?? from) + 1n;
  }
}

interface Loaded {
  readonly there: readonly MessagePosition[];
  readonly loaded: LoadedMessages;
  readonly isMore: boolean;
}

type Range = Pick<PeekRequest, 'from' | 'maxMessages'>;

async function inOneLog(
  context: StoreContext,
  log: Log,
  { from, maxMessages }: Range,
): Promise<readonly MessagePosition[]> {
  const found = await Promise.all([
    positionsFrom(context, log, 'live', from, maxMessages),
    positionsFrom(context, log, 'deferred', from, maxMessages),
    positionsFrom(context, withoutSession(log), 'scheduled', from, maxMessages, log.sessionId),
  ]);
  return found.flat();
}

/** A message that comes due meanwhile is found twice rather than not at all, since sessions are read last. */
async function inAllSessions(
  context: StoreContext,
  log: Log,
  { from, maxMessages }: Range,
): Promise<readonly MessagePosition[]> {
  const scheduled = await positionsFrom(context, log, 'scheduled', from, maxMessages);
  return [...scheduled, ...(await positionsInSessions(context, log, from, maxMessages))];
}

/** The sessions of messages that were delivered; their locks decide whether the deliveries failed (semantics #94). */
function delivered(positions: readonly MessagePosition[]): readonly string[] {
  return positions.flatMap(({ block, slotIndex, sessionId }) =>
    sessionId === undefined || slotOf(block, slotIndex).tag === undefined ? [] : [sessionId],
  );
}

/**
 * Loads payloads from the front until they fill a page. Payloads are read whole, so they may take twice the bytes of a
 * page. A block may have been deleted since it was read; if all of them were, it reads further.
 */
async function loadFirst(
  context: StoreContext,
  log: Log,
  positions: readonly MessagePosition[],
  { maxBytes, payloads }: PeekRequest,
): Promise<Loaded> {
  let rest = positions;
  for (;;) {
    const blocks = new Set<Block>();
    let bytes = 0;
    const end = rest.findIndex(({ block }) => {
      if (blocks.has(block)) return false;
      bytes += block.payload.bytes;
      if (blocks.size > 0 && bytes > 2 * maxBytes) return true;
      blocks.add(block);
      return false;
    });
    holdPayloads(payloads, log, [...blocks]);
    const loaded = await loadMessages(context, log, [...blocks]);
    const there = (end < 0 ? rest : rest.slice(0, end)).filter(({ block }) => loaded.has(block));
    rest = end < 0 ? [] : rest.slice(end);
    if (there.length > 0 || rest.length === 0) return { there, loaded, isMore: rest.length > 0 };
  }
}

const STATES = {
  live: 'Active',
  returned: 'Active',
  deferred: 'Deferred',
  scheduled: 'Scheduled',
} as const satisfies Record<BlockSection, MessageState>;

/**
 * The first `count` messages of a section from a number on (semantics #72), of one session if the log has one
 * (semantics S9).
 */
async function positionsFrom(
  context: StoreContext,
  log: Log,
  section: BlockSection,
  from: bigint,
  count: number,
  sessionId?: string,
): Promise<readonly MessagePosition[]> {
  const positions: MessagePosition[] = [];
  // The message `from` may be in a block that starts up to SPAN numbers earlier.
  let start: string | undefined = blockSortKey(section, from > SPAN ? from - SPAN : 0n);
  while (start !== undefined) {
    const page = await readBlocks(context, log, {
      from: start,
      // A message that was put back sorts after its old block.
      to: `${blockSortKey(section, SEQUENCE_MAX)}~`,
      limit: Math.min(count + 1, PAGE_BLOCKS_MAX),
      consistent: true,
    });
    const blocks =
      sessionId === undefined
        ? page.blocks
        : page.blocks.filter((block) => block.sessionId === sessionId);
    positions.push(
      ...blocks.flatMap((block) => positionsIn(block)).filter(({ sequence }) => sequence >= from),
    );
    start = page.next;
    const last = page.blocks.at(-1)?.sequence;
    // Blocks may overlap, so only numbers up to the first one of the last block read are sure to be complete.
    const sure = positions.filter(({ sequence }) => last !== undefined && sequence <= last);
    if (sure.length >= count) break;
  }
  return lowestOf(positions, count);
}
