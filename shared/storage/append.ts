import type { Block } from '../domain/block.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { RandomSource } from '../domain/clock.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Log } from '../domain/log.ts';
import type { Message } from '../domain/message.ts';
import { toBlockItem } from './block-item.ts';
import { noteDue, toDueItem } from './due-times.ts';
import { type Item, type Table, TRANSACTION_ITEMS_MAX } from './dynamo.ts';
import { takeNumbers } from './head.ts';
import { blockSortKey, logKey } from './keys.ts';
import { packBlocks } from './pack-blocks.ts';
import { putPayload } from './payloads.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Stores messages at the end of a log, or among its scheduled ones where they are not due yet: two
 * round trips. First the numbers are taken and, at the same time, payload items are written under
 * names of their own; then the blocks go in, in one write or one transaction. So a send is stored
 * whole or not at all, and what a crash leaves behind is a gap in the numbers or payload items that
 * no block names. Returns the first number; the others follow it in order.
 *
 * Throws MessagingEntityNotFound where the entity is gone, ArgumentError, ServiceBusy,
 * ServiceTimeout.
 */
export async function append(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
): Promise<bigint> {
  const { table, random } = context;
  const runs = runsByDueTime(messages, now);
  const packed = runs.flatMap(({ dueAt, run }) =>
    packBlocks(log, run, dueAt ?? now, () => payloadName(random)).map((block) => ({
      dueAt,
      ...block,
    })),
  );
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
  const bytes = packed.reduce((sum, { payload }) => sum + payload.bytes, 0);
  const [{ first, bytesIn }] = await Promise.all([
    takeNumbers(table, log, { count: messages.length, bytes, now }),
    putPayload(table, log, pieces, now),
  ]);

  context.gauge.note(log, bytesIn);
  let sequence = first;
  const blocks: Block[] = [];
  for (const { dueAt, parts: _, ...rest } of packed) {
    const store = dueAt === undefined ? 'live' : 'scheduled';
    blocks.push({ store, sequence, enqueuedAt: dueAt ?? now, ...rest });
    sequence += BigInt(rest.slots.size);
  }
  await putAll(table, [
    ...blocks.map((block) => toBlockItem(log, block)),
    ...dueItems(log, blocks),
  ]);
  await afterwards(context, log, first, runs);
  return first;
}

interface Run {
  readonly dueAt: number | undefined;
  readonly run: readonly Message[];
}

/** A block holds messages of one due time; those due already are sent now. */
function runsByDueTime(messages: readonly Message[], now: number): readonly Run[] {
  const runs: { dueAt: number | undefined; run: Message[] }[] = [];
  for (const message of messages) {
    const { scheduledEnqueueAt } = message;
    const dueAt =
      scheduledEnqueueAt !== undefined && scheduledEnqueueAt > now ? scheduledEnqueueAt : undefined;
    const last = runs.at(-1);
    if (last !== undefined && last.dueAt === dueAt) last.run.push(message);
    else runs.push({ dueAt, run: [message] });
  }
  if (runs.length > LIMITS.dueTimesPerBatch) {
    throw new BrokerError(
      'ArgumentError',
      `The batch changes its scheduled enqueue time ${runs.length} times; the limit is ${LIMITS.dueTimesPerBatch}.`,
    );
  }
  return runs;
}

/** One item for each due time, which names the scheduled blocks that then come due. */
function dueItems(log: Log, blocks: readonly Block[]): Item[] {
  const byDueTime = new Map<number, bigint[]>();
  for (const { store, enqueuedAt, sequence } of blocks) {
    if (store !== 'scheduled') continue;
    byDueTime.set(enqueuedAt, [...(byDueTime.get(enqueuedAt) ?? []), sequence]);
  }
  return Array.from(byDueTime, ([dueAt, sequences]) => toDueItem(log, { dueAt, sequences }));
}

async function putAll(table: Table, items: readonly Item[]): Promise<void> {
  const [only] = items;
  if (only !== undefined && items.length === 1) {
    await table.put(only);
    return;
  }
  if (items.length > TRANSACTION_ITEMS_MAX) {
    throw new BrokerError(
      'ArgumentError',
      `The batch takes ${items.length} pieces to store as one; the limit is ${TRANSACTION_ITEMS_MAX}. Send fewer messages, or fewer scheduled enqueue times, in one batch.`,
    );
  }
  await table.transact(items.map((Item) => ({ Put: { TableName: table.name, Item } })));
}

async function afterwards(
  context: StoreContext,
  log: Log,
  first: bigint,
  runs: readonly Run[],
): Promise<void> {
  const dues = runs.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  if (dues.length > 0) await noteDue(context, log, Math.min(...dues));
  if (dues.length === runs.length) return;
  // Another sender may have overtaken this one; its block may be remembered as the end.
  context.fronts.noteBlock(logKey(log), blockSortKey('live', first));
  context.signal(logKey(log));
}

const NAME_BYTES = 9;

/** A name for payload items that nobody else has: 72 random bits. */
export function payloadName(random: RandomSource): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('base64url');
}
