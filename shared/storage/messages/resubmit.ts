import type { ForwardSome, MoveRequest, ResubmitRequest } from '../../broker/ports/messages.ts';
import { type Block, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { countDone } from '../../domain/count-done.ts';
import { withoutDeadLettering } from '../../domain/messages/dead-letter-reasons.ts';
import { capTimeToLive, type Message } from '../../domain/messages/message.ts';
import { takeNumbers } from '../append/partition-header.ts';
import { cutRuns, packRuns, toRuns } from '../append/segments.ts';
import { toBlockItem } from '../blocks/block-item.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { loadMessages, putPayloads, releasePayload } from '../blocks/payloads.ts';
import { announce, readPages } from '../blocks/read-blocks.ts';
import { newItems, run } from '../dynamodb/prepared-write.ts';
import { decided } from '../dynamodb/unknown-outcome.ts';
import { readBatch } from '../fan-out/move-source.ts';
import { randomName } from '../schema/message-keys.ts';
import { readyItems, wakeForSessions } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';

const PAGE_BLOCKS = 50;

/**
 * Sends dead letters to the main queue again as new messages (semantics L16, #C2): with new numbers (semantics M11), no
 * deliveries and without the dead-letter reason. Consecutive messages of a block move in one transaction, so no message
 * is ever in both queues or in neither. Skips locked messages. Messages keep their order within each page of
 * PAGE_BLOCKS blocks.
 */
export async function resubmit(
  context: StoreContext,
  from: Log,
  to: Log,
  request: ResubmitRequest,
  policy: LogPolicy,
): Promise<number> {
  const { timeToLiveMsMax } = request;
  const move: Move = (block, slots) =>
    resubmitSlots(context, from, to, { block, slots, timeToLiveMsMax });
  return await countDone(moves(context, from, request, policy, move));
}

/**
 * Moves dead letters to another entity, by `forward`, in batches of up to `batchMax` messages of a block. A batch that
 * another process changed meanwhile stays where it is. Reads as `resubmit`.
 */
export async function forwardSome(
  context: StoreContext,
  from: Log,
  request: MoveRequest & { readonly batchMax: number },
  policy: LogPolicy,
  forward: ForwardSome,
): Promise<void> {
  const move: Move = async (block, slots) => {
    const source = { log: from, taken: [{ block, slots }] };
    const batch = await readBatch(context, source, context.clock.now());
    if (batch === undefined) return [];
    try {
      const sequences = await forward(batch);
      return sequences.map((sequence) => Number(sequence - block.sequence));
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== 'ConflictInProgress') throw error;
      return [];
    }
  };
  for await (const _ of moves(context, from, request, policy, move));
}

/** Moves messages of a block in one transaction; returns the slots of those that moved. */
type Move = (block: Block, slots: readonly number[]) => Promise<readonly number[]>;

/** Moves messages in the order of their sequence numbers; yields after each transaction how many it moved. */
async function* moves(
  context: StoreContext,
  from: Log,
  { maxMessages, sequences, batchMax }: MoveRequest & { readonly batchMax?: number },
  policy: LogPolicy,
  move: Move,
): AsyncGenerator<number> {
  let left = maxMessages;
  const last = sequences && [...sequences].sort((a, b) => (a < b ? -1 : 1)).at(-1);
  for await (const blocks of readPages(context, from, PAGE_BLOCKS)) {
    // The blocks are in the order of their first numbers.
    const [first] = blocks;
    if (last !== undefined && first !== undefined && first.sequence > last) return;
    const now = context.clock.now();
    const gone = new Map<Block, readonly number[]>();
    for (const { block, slots: free } of inOrder(blocks, policy, now, { sequences, batchMax })) {
      const slots = free.slice(0, left);
      const rest = without(block, gone.get(block) ?? []);
      const went = await move(rest, slots);
      gone.set(block, [...(gone.get(block) ?? []), ...went]);
      left -= went.length;
      yield went.length;
      if (left <= 0) return;
    }
  }
}

/**
 * The free messages of blocks, of those that `sequences` names, in order of their numbers. Blocks overlap if messages
 * of one block were dead-lettered at different times.
 */
function inOrder(
  blocks: readonly Block[],
  { rules }: LogPolicy,
  now: number,
  {
    sequences,
    batchMax = Number.POSITIVE_INFINITY,
  }: {
    readonly sequences: ReadonlySet<bigint> | undefined;
    readonly batchMax: number | undefined;
  },
): readonly { readonly block: Block; readonly slots: readonly number[] }[] {
  const chosen = blocks
    .flatMap((block) =>
      surveyBlock(block, rules, now).free.map((slot) => ({
        block,
        slot,
        sequence: block.sequence + BigInt(slot),
      })),
    )
    .filter(({ sequence }) => sequences?.has(sequence) ?? true)
    .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
  const runs: { block: Block; slots: number[] }[] = [];
  for (const { block, slot } of chosen) {
    const last = runs.at(-1);
    if (last?.block === block && last.slots.length < batchMax) last.slots.push(slot);
    else runs.push({ block, slots: [slot] });
  }
  return runs;
}

function without(block: Block, gone: readonly number[]): Block {
  if (gone.length === 0) return block;
  const slots = new Map(block.slots);
  for (const slot of gone) slots.delete(slot);
  return { ...block, slots };
}

interface Taken extends Pick<ResubmitRequest, 'timeToLiveMsMax'> {
  readonly block: Block;
  readonly slots: readonly number[];
}

/**
 * Returns the slots whose messages moved: none if the block changed in between; otherwise all, except messages without
 * a session if the main queue requires sessions.
 */
async function resubmitSlots(
  context: StoreContext,
  from: Log,
  to: Log,
  { block, slots: free, timeToLiveMsMax }: Taken,
): Promise<readonly number[]> {
  const { table, random, clock, compression } = context;
  const now = clock.now();
  const loaded = await loadMessages(context, from, [block]);
  if (!loaded.has(block)) return [];
  const slots = free.filter(
    (slot) => to.sessions === undefined || hasSession(loaded.at(block, slot)),
  );
  if (slots.length === 0) return [];
  const messages = slots.map((slot) => asNew(loaded.at(block, slot), timeToLiveMsMax));
  const packed = await packRuns(cutRuns(toRuns(to, messages, now, false).runs), now, {
    compression,
    reference: () => randomName(random),
  });
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
  const [{ first }] = await Promise.all([
    takeNumbers(table, to, { count: messages.length, bytes: 0, now }),
    putPayloads(table, to, pieces, now),
  ]);
  const arrivals = packed.map(({ to: log, dueAt: _, parts: __, offset, ...rest }) => {
    const sequence = first + BigInt(offset);
    const arrival: Block = { section: 'live', sequence, enqueuedAt: now, ...rest };
    return { log, arrival };
  });
  const logs = arrivals.map(({ log }) => log);
  const moving = {
    writes: [
      removalOf(from, block, slots),
      ...newItems([
        ...arrivals.map(({ log, arrival }) => toBlockItem(log, arrival)),
        ...(await readyItems(context, logs, now)),
      ]),
    ],
    announce: () => {
      for (const { log, arrival } of arrivals) announce(context, log, arrival);
      wakeForSessions(context, logs);
    },
    onDone: () => {
      if (slots.length < block.slots.size) return;
      context.background(() => releasePayload(table, from, block.payload));
    },
    onRefused: () => {
      for (const { payload } of packed) {
        context.background(() => releasePayload(table, to, payload));
      }
    },
  };
  return decided(await run(table, [moving])) ? slots : [];
}

function hasSession({ sessionId }: Message): boolean {
  return sessionId !== undefined;
}

function asNew(message: Message, timeToLiveMsMax: number | undefined): Message {
  return capTimeToLive(withoutDeadLettering(message), timeToLiveMsMax);
}
