import type { Forward } from '../../broker/ports/publication.ts';
import type { Block } from '../../domain/blocks/block.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { groupBy } from '../../domain/group-by.ts';
import type { Message } from '../../domain/messages/message.ts';
import { pause, randomFraction } from '../../domain/scheduler.ts';
import { readPartitionHeader, takeNumbers } from '../append/partition-header.ts';
import { fromBlockItem, toBlockItem } from '../blocks/block-item.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { cutBlocks, inARow, type PackedBlock, packBlocks } from '../blocks/pack-blocks.ts';
import { loadMessages, putPayloads, releasePayload } from '../blocks/payloads.ts';
import { announce, deleteEmptyBlock, keyOf } from '../blocks/read-blocks.ts';
import { chunks } from '../dynamodb/chunks.ts';
import { newItems, run } from '../dynamodb/prepared-write.ts';
import { readBatch } from '../fan-out/move-source.ts';
import { dueSortKey, logKey, randomName } from '../schema/message-keys.ts';
import { readyItems, wakeForSessions } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import type { Due } from './due-times.ts';
import { raiseNextDueTime, readDueItems } from './next-due.ts';

/** A transaction takes this many due blocks and the blocks that they become. */
const BLOCKS_PER_TRANSACTION = 45;
/** The same with the ready-session index entries. */
const SESSION_BLOCKS_PER_TRANSACTION = 33;
/** One round reads this many due times. */
const DUES_PER_ROUND = 45;
/** Rounds of one call; the next call continues. */
const ROUNDS_MAX = 100;
/** A call waits up to so long after a conflict, ms, and twice as long after each further one: the other goes on. */
const CONFLICT_MS = 40;
const CONFLICT_MS_MAX = 640;

/**
 * Activates scheduled messages that have come due, in bulk. They get new sequence numbers, as if they were enqueued at
 * their due time (semantics #63); messages due at the same instant share blocks. Two activations at the same time do no
 * harm: of two transactions on one block, one finds it gone. True = messages were due here. False for an entity with
 * sessions that forwards: `forwardDue` sends its due messages on, which join no session here. Without sessions they may
 * become active first; `forwardAll` then sends them on.
 */
export async function activateDue(context: StoreContext, log: Log, now: number): Promise<boolean> {
  if (log.sessions?.isForwarded) return false;
  return await forEachDue(context, log, now, (blocks, dueAt) =>
    activateTogether(context, log, blocks, dueAt),
  );
}

/**
 * Forwards the due scheduled messages of a topic, whose rules decide only now where they go, or of an entity with
 * ForwardTo. True = some were due. Within this process one call after the other, so that they keep their order.
 */
export async function forwardDue(
  context: StoreContext,
  log: Log,
  forward: Forward,
): Promise<boolean> {
  return await context.forwarding.run(logKey(log), () => forwardEachDue(context, log, forward));
}

async function forwardEachDue(context: StoreContext, log: Log, forward: Forward): Promise<boolean> {
  return await forEachDue(context, log, context.clock.now(), async (blocks, dueAt) => {
    const taken = blocks.map((block) => ({ block, slots: slotsOf(block) }));
    const batch = await readBatch(context, { log, taken }, dueAt);
    if (batch === undefined) return false;
    try {
      await forward(batch);
      return true;
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== 'ConflictInProgress') throw error;
      return false;
    }
  });
}

function slotsOf({ slots }: Block): readonly number[] {
  return [...slots.keys()].sort((a, b) => a - b);
}

/** Activates blocks due at one instant; false = another process did so at the same time. */
type Activate = (blocks: readonly Block[], dueAt: number) => Promise<boolean>;

async function forEachDue(
  context: StoreContext,
  log: Log,
  now: number,
  activate: Activate,
): Promise<boolean> {
  if (log.subQueue !== 'main' || context.dueTimes.isDue(logKey(log), now) === false) return false;
  const readAt = context.dueTimes.now();
  const header = await readPartitionHeader(context.table, log);
  if (header.nextDueAt === undefined || header.nextDueAt > now) {
    context.dueTimes.note(logKey(log), header.nextDueAt, readAt);
    return false;
  }
  for (let round = 0, conflicts = 0; round < ROUNDS_MAX; round++) {
    const dues = await readDueItems(context, log, now, DUES_PER_ROUND);
    if (dues.length === 0) break;
    if (await activateRound(context, log, dues, activate)) continue;
    const most = Math.min(CONFLICT_MS * 2 ** conflicts++, CONFLICT_MS_MAX);
    await pause(context.scheduler, randomFraction(context.random) * most);
  }
  await raiseNextDueTime(context, log, header);
  return true;
}

/** Activates due messages, earliest first, and deletes their due items. False = something was in between. */
async function activateRound(
  context: StoreContext,
  log: Log,
  dues: readonly Due[],
  activate: Activate,
): Promise<boolean> {
  for (const [dueAt, together] of groupBy(dues, (due) => due.dueAt)) {
    const keys = together
      .flatMap(({ sequences }) => sequences)
      .map((sequence) => keyOf(log, { section: 'scheduled', sequence }));
    const items = await context.table.getMany(keys, { consistent: true });
    const found = items.map(fromBlockItem).sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
    const blocks = found.filter(({ slots }) => slots.size > 0);
    // Two cancellations at the same time may have left nothing of a block but the block.
    const empty = found.filter(({ slots }) => slots.size === 0);
    await Promise.all(empty.map((block) => deleteEmptyBlock(context, log, block)));
    let isDone = true;
    const most =
      log.sessions === undefined ? BLOCKS_PER_TRANSACTION : SESSION_BLOCKS_PER_TRANSACTION;
    for (const some of chunks(blocks, most)) {
      isDone = (await activate(some, dueAt)) && isDone;
    }
    // After a cancellation or another process in between, the next round finds the rest: what is due later must not
    // overtake it.
    if (!isDone) return false;
    await forgetDues(context, log, together);
  }
  return true;
}

async function forgetDues(context: StoreContext, log: Log, dues: readonly Due[]): Promise<void> {
  const pk = logKey(log);
  await context.table.deleteMany(
    dues.map(({ dueAt, sequences }) => ({ pk, sk: dueSortKey(dueAt, sequences[0] ?? 0n) })),
  );
}

/**
 * Activates blocks due at one instant in one transaction, in order of their numbers (semantics M27). The same one
 * brings their sessions to life (semantics S8).
 */
async function activateTogether(
  context: StoreContext,
  log: Log,
  blocks: readonly Block[],
  dueAt: number,
): Promise<boolean> {
  const { table } = context;
  const now = context.clock.now();
  const { packed, count } = await packAnew(context, log, blocks, dueAt);
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined || parts.length === 0 ? [] : [{ reference, parts }],
  );
  const [{ first }] = await Promise.all([
    takeNumbers(table, log, { count, bytes: 0, now }),
    putPayloads(table, log, pieces, now),
  ]);
  const arrivals = packed.map(({ to, parts: _, offset, ...rest }) => {
    const sequence = first + BigInt(offset);
    const arrival: Block = { section: 'live', sequence, enqueuedAt: dueAt, ...rest };
    return { to, arrival };
  });
  const logs = arrivals.map(({ to }) => to);
  const moving = {
    writes: [
      ...blocks.map((block) => removalOf(log, block, slotsOf(block))),
      ...newItems([
        ...arrivals.map(({ to, arrival }) => toBlockItem(to, arrival)),
        ...(await readyItems(context, logs, now)),
      ]),
    ],
    announce: () => {
      for (const { to, arrival } of arrivals) announce(context, to, arrival);
      wakeForSessions(context, logs);
    },
    onRefused: () => {
      for (const { payload, parts } of packed) {
        if (parts.length > 0) context.background(() => releasePayload(table, log, payload));
      }
    },
  };
  return (await run(table, [moving])).done;
}

/**
 * The blocks that scheduled ones become. Small neighbours are packed together; a new block takes over a large payload,
 * which is neither read nor written.
 */
async function packAnew(
  context: StoreContext,
  log: Log,
  blocks: readonly Block[],
  dueAt: number,
): Promise<{ readonly packed: readonly Bound[]; readonly count: number }> {
  const small = blocks.filter(isSmall);
  const loaded = await loadMessages(context, log, small);
  const packed: Bound[] = [];
  let count = 0;
  let row: Message[] = [];
  let to = log;
  const packRow = async () => {
    if (row.length === 0) return;
    const start = count - row.length;
    const anew = await packBlocks(to, cutBlocks(to, inARow(row)), dueAt, {
      compression: context.compression,
      reference: () => randomName(context.random),
    });
    packed.push(...anew.map((block) => ({ to, ...block, offset: start + block.offset })));
    row = [];
  };
  for (const block of bySession(blocks)) {
    const { sessionId } = block;
    if (sessionId !== to.sessionId) {
      await packRow();
      to = sessionId === undefined ? log : logOfSession(log, sessionId);
    }
    if (isSmall(block)) {
      const messages = slotsOf(block).map((slot) => loaded.at(block, slot));
      row.push(...messages);
      count += messages.length;
      continue;
    }
    await packRow();
    const { slots, expiresAt, payload } = block;
    const expiry = expiresAt === undefined ? {} : { expiresAt };
    packed.push({ to, offset: count, slots, payload, parts: [], ...expiry });
    count += spanOf(block);
  }
  await packRow();
  return { packed, count };
}

/** A packed block and the log that it goes to. */
interface Bound extends PackedBlock {
  readonly to: Log;
}

/** Sorts blocks by session, in order within each. */
function bySession(blocks: readonly Block[]): readonly Block[] {
  return [...groupBy(blocks, ({ sessionId }) => sessionId).values()].flat();
}

/** Whether a block holds its whole payload, which makes packing it again cheap. */
function isSmall({ payload }: Block): boolean {
  return payload.reference === undefined;
}

/** Numbers from the first slot to the last; a cancelled message leaves its number unused. */
function spanOf({ slots }: Block): number {
  return Math.max(...slots.keys()) + 1;
}
