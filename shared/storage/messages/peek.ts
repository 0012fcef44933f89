import type { Peeked, PeekRequest } from '../../broker/ports/messages.ts';
import { type Block, ownExpiryOf, sequenceNumberOf, slotOf } from '../../domain/blocks/block.ts';
import { type BlockSection, SLOTS_MAX } from '../../domain/blocks/lock-token.ts';
import { type Log, withoutSession } from '../../domain/blocks/log.ts';
import { failedDeliveries } from '../../domain/blocks/slot.ts';
import type { MessageState, StoredMessage } from '../../domain/messages/message.ts';
import { holdPayloads } from '../../domain/messages/payload-account.ts';
import { sizeOf } from '../blocks/pack-blocks.ts';
import { type LoadedMessages, loadMessages } from '../blocks/payloads.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { activateDue } from '../scheduling/activate.ts';
import { blockSortKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** The position of a message in a log. */
interface MessagePosition {
  readonly sequence: bigint;
  readonly block: Block;
  readonly slotIndex: number;
}

const SEQUENCE_MAX = 0xffff_ffff_ffffn;
const PAGE_BLOCKS_MAX = 100;
/** How many numbers one block covers at most. */
const SPAN = BigInt(SLOTS_MAX);

/**
 * Returns messages in order of their numbers, in any state, without locking them: active, locked, deferred and
 * scheduled ones (semantics #73, L8), and expired ones that were not cleaned up yet (semantics L9, #A4).
 */
export async function peek(context: StoreContext, log: Log, request: PeekRequest): Promise<Peeked> {
  const now = context.clock.now();
  const whole = withoutSession(log);
  await activateDue(context, whole, now);
  const { from, maxMessages, rules } = request;
  const found = await Promise.all([
    positionsFrom(context, log, 'live', from, maxMessages),
    positionsFrom(context, log, 'deferred', from, maxMessages),
    positionsFrom(context, whole, 'scheduled', from, maxMessages, log.sessionId),
  ]);
  const positions = found.flat().sort(bySequence).slice(0, maxMessages);
  const { there, loaded, isMore } = await loadFirst(context, log, positions, request);

  const shown: StoredMessage[] = [];
  let bytes = 0;
  for (const { block, slotIndex, sequence } of there) {
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
  return { messages: shown, isCut: isMore || positions.length === maxMessages };
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
): Promise<{
  readonly there: readonly MessagePosition[];
  readonly loaded: LoadedMessages;
  readonly isMore: boolean;
}> {
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
    positions.push(...blocks.flatMap(positionsIn).filter(({ sequence }) => sequence >= from));
    start = page.next;
    const last = page.blocks.at(-1)?.sequence;
    // Blocks may overlap, so only numbers up to the first one of the last block read are sure to be complete.
    const sure = positions.filter(({ sequence }) => last !== undefined && sequence <= last);
    if (sure.length >= count) break;
  }
  return positions.sort(bySequence).slice(0, count);
}

function positionsIn(block: Block): MessagePosition[] {
  return Array.from(block.slots.keys(), (slotIndex) => ({
    sequence: block.sequence + BigInt(slotIndex),
    block,
    slotIndex,
  }));
}

function bySequence(a: MessagePosition, b: MessagePosition): number {
  if (a.sequence === b.sequence) return 0;
  return a.sequence < b.sequence ? -1 : 1;
}
