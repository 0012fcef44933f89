import type { DeduplicationCondition } from '../../broker/ports/duplicates.ts';
import { type Block, sequenceNumberOf } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { argumentError } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import { addTo } from '../../domain/group-by.ts';
import type { Message } from '../../domain/messages/message.ts';
import { toBlockItem } from '../blocks/block-item.ts';
import { putPayloads, releasePayload } from '../blocks/payloads.ts';
import { announce, sortKeyOf } from '../blocks/read-blocks.ts';
import { prepareConditions, requireConditions } from '../duplicates/condition.ts';
import { fitsTransaction, newItems, type PreparedWrite, run } from '../dynamodb/prepared-write.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import { afterStoring, beforeStoring } from '../dynamodb/unknown-outcome.ts';
import { toDueItem } from '../scheduling/due-times.ts';
import { noteDue } from '../scheduling/next-due.ts';
import { logName, randomName } from '../schema/message-keys.ts';
import { addReady, readSessions } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import { takeNumbers } from './partition-header.ts';
import { cutRuns, packRuns, type Run, toRuns } from './segments.ts';

/**
 * Stores messages at the end of a log, or among its scheduled ones if they are not due yet. Two round trips: first it
 * takes sequence numbers and writes payload items at the same time; then it writes the blocks, with the deduplication
 * condition, in one write or one transaction. So a send is stored whole or not at all (semantics #149), and a crash
 * leaves only a gap in the numbers or orphaned payload items. Sessions are added to the ready-session index afterwards.
 * Returns the numbers in the order of the messages.
 *
 * Throws MessagingEntityNotFound, ArgumentError, DeduplicationRefused, ServiceBusy, ServiceTimeout.
 */
export async function append(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
  condition?: DeduplicationCondition,
): Promise<readonly bigint[]> {
  const prepared = await prepareAppend(context, log, messages, {
    now,
    inOrder: condition !== undefined,
    requireFit: (writes) =>
      requireOneTransaction(context.table, writes + (condition === undefined ? 0 : 1)),
  });
  const first = sequenceNumberOf(log.partition, prepared.first);
  const conditions = prepareConditions(condition === undefined ? [] : [condition], first);
  requireConditions(await run(context.table, [...conditions, prepared]), conditions);
  await afterStoring(prepared.noteDueAgain());
  await afterStoring(prepared.addReady());
  return prepared.numbers;
}

/** Options of `prepareAppend`. */
export interface AppendOptions {
  /** Epoch ms. */
  readonly now: number;
  /** Whether the caller needs numbers in the order of the messages. */
  readonly inOrder: boolean;
  /** Throws, before anything is written, if there are more items than one write can have. */
  readonly requireFit: (writes: number) => void;
}

/** A prepared write of messages whose numbers are taken and whose payloads are stored. */
export interface PreparedAppend extends PreparedWrite {
  readonly first: bigint;
  /** In the order of the messages. */
  readonly numbers: readonly bigint[];
  /** The sessions that get active messages, as logs. */
  readonly sessions: readonly Log[];
  /** Call it once the messages are stored. */
  readonly noteDueAgain: () => Promise<void>;
  /** Adds the sessions to the ready-session index, once the messages are stored and unless the same write did. */
  readonly addReady: () => Promise<void>;
}

/** Prepares to store messages: takes their numbers and writes their payloads. */
export async function prepareAppend(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  { now, inOrder, requireFit }: AppendOptions,
): Promise<PreparedAppend> {
  const { table, random, compression, workTurns } = context;
  const isLong = messages.length > BUDGETS.request.turnMessages;
  // Many sends may have waited for the same read and continue at once.
  if (isLong) await workTurns.next(messages);
  const { runs, offsets } = toRuns(log, messages, now, inOrder);
  const cut = cutRuns(runs);
  const blockCount = cut.reduce((sum, { cuts }) => sum + cuts.length, 0);
  requireFit(blockCount + runs.filter((run) => run.dueAt !== undefined).length);
  const reference = () => randomName(random);
  const packed = await packRuns(cut, now, { compression, reference });
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
  const dueAt = earliest(runs);
  const bytes = packed.reduce((sum, { payload }) => sum + payload.bytes, 0);
  const sessions = sessionsOf(runs);
  const [{ first, bytesIn }, , , before] = await beforeStoring(
    Promise.all([
      takeNumbers(table, log, { count: messages.length, bytes, now }),
      putPayloads(table, log, pieces, now),
      // Noted before the write, so that a crash leaves no message that never comes due, and again after it, since
      // an activation in between may have found nothing.
      dueAt === undefined ? undefined : noteDue(context, log, dueAt),
      readSessions(context, sessions),
    ]),
  );

  context.sizeEstimate.noteStored(log, bytesIn);
  if (isLong) await workTurns.next(messages);
  const placed = packed.map(({ to, dueAt: due, parts: _, offset, ...rest }) => {
    const sequence = first + BigInt(offset);
    const live: Block = { section: 'live', sequence, enqueuedAt: now, ...rest };
    if (due === undefined) return { to, block: live };
    const { sessionId } = to;
    const session = sessionId === undefined ? {} : { sessionId };
    const block: Block = { ...live, section: 'scheduled', enqueuedAt: due, ...session };
    return { to: log, block };
  });
  const blocks = placed.map(({ block }) => block);
  return {
    writes: newItems([
      ...placed.map(({ to, block }) => toBlockItem(to, block)),
      ...dueItems(log, blocks),
    ]),
    first,
    numbers: offsets.map((offset) => first + BigInt(offset)),
    sessions,
    noteDueAgain: async () => {
      if (dueAt !== undefined) await noteDue(context, log, dueAt);
    },
    addReady: () => addReady(context, sessions, { before, blocks: keysOf(placed) }),
    announce: () => {
      for (const { to, block } of placed) {
        // Another send may have stored a later block first, so a hint may already skip this one.
        if (block.section === 'live') announce(context, to, block);
      }
    },
    onRefused: () => {
      for (const { payload } of packed) {
        context.background(() => releasePayload(table, log, payload));
      }
    },
  };
}

/** The sort key of a live block in each log, by the name of the log. */
function keysOf(placed: readonly { readonly to: Log; readonly block: Block }[]) {
  return new Map(
    placed
      .filter(({ block }) => block.section === 'live')
      // The first of each log is set last.
      .reverse()
      .map(({ to, block }) => [logName(to), sortKeyOf(block)]),
  );
}

/** The sessions that get active messages. */
function sessionsOf(runs: readonly Run[]): readonly Log[] {
  return runs.flatMap(({ to, dueAt }) =>
    to.sessionId === undefined || dueAt !== undefined ? [] : [to],
  );
}

/** One due item for each due time, with the scheduled blocks that come due then. */
function dueItems(log: Log, blocks: readonly Block[]): Item[] {
  const byDueTime = new Map<number, bigint[]>();
  for (const { section, enqueuedAt, sequence } of blocks) {
    if (section === 'scheduled') addTo(byDueTime, enqueuedAt, sequence);
  }
  return Array.from(byDueTime, ([dueAt, sequences]) => toDueItem(log, { dueAt, sequences }));
}

function earliest(runs: readonly Run[]): number | undefined {
  const dues = runs.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  return dues.length === 0 ? undefined : Math.min(...dues);
}

function requireOneTransaction(table: Table, writes: number): void {
  if (fitsTransaction(table, writes)) return;
  throw argumentError(
    `The batch takes ${writes} writes; the limit is ${table.transactionItems}. Send fewer messages, or fewer sessions or scheduled enqueue times, in one batch.`,
  );
}
