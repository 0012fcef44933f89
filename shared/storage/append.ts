import { type Block, sequenceNumberOf } from '../domain/block.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { RandomSource } from '../domain/clock.ts';
import type { Log } from '../domain/log.ts';
import type { Message } from '../domain/message.ts';
import { toBlockItem } from './block-item.ts';
import { announce } from './blocks.ts';
import { noteDue, toDueItem } from './due-times.ts';
import { type Item, type Table, TRANSACTION_ITEMS_MAX } from './dynamo.ts';
import { beforeStoring } from './failures.ts';
import { type Guard, transactUnder } from './guard.ts';
import { takeNumbers } from './head.ts';
import { putPayload } from './payloads.ts';
import { packRuns, type Run, toRuns } from './runs.ts';
import { enlist, readSessions } from './sessions/listings.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Stores messages at the end of a log, or among its scheduled ones where they are not due yet: two
 * round trips. First the numbers are taken and, at the same time, payload items are written under
 * names of their own; then the blocks go in, in one write or one transaction. So a send is stored
 * whole or not at all, and what a crash leaves behind is a gap in the numbers or payload items that
 * no block names. Returns the numbers, in the order of the messages. A guard goes in with the blocks,
 * or nothing does.
 *
 * Throws MessagingEntityNotFound where the entity is gone, ArgumentError, ServiceBusy,
 * ServiceTimeout.
 */
export async function append(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
  guard?: Guard,
): Promise<readonly bigint[]> {
  const { table, random } = context;
  const { runs, offsets } = toRuns(log, messages, now, guard !== undefined);
  const packed = packRuns(runs, now, () => payloadName(random));
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
  const dueAt = earliest(runs);
  const dues = runs.filter((run) => run.dueAt !== undefined).length;
  requireOneTransaction(packed.length + dues + (guard === undefined ? 0 : 1));
  const bytes = packed.reduce((sum, { payload }) => sum + payload.bytes, 0);
  const sessions = sessionsOf(runs);
  const [{ first, bytesIn }, , , before] = await beforeStoring(
    Promise.all([
      takeNumbers(table, log, { count: messages.length, bytes, now }),
      putPayload(table, log, pieces, now),
      // Noted before, so that a crash leaves nothing that never comes due, and again afterwards,
      // since an activation in between may have found nothing yet.
      dueAt === undefined ? undefined : noteDue(context, log, dueAt),
      readSessions(table, sessions),
    ]),
  );

  context.gauge.note(log, bytesIn);
  const placed = packed.map(({ to, dueAt: due, parts: _, offset, ...rest }) => {
    const sequence = first + BigInt(offset);
    const live: Block = { store: 'live', sequence, enqueuedAt: now, ...rest };
    if (due === undefined) return { to, block: live };
    const { sessionId } = to;
    const session = sessionId === undefined ? {} : { sessionId };
    const block: Block = { ...live, store: 'scheduled', enqueuedAt: due, ...session };
    return { to: log, block };
  });
  const items = [
    ...placed.map(({ to, block }) => toBlockItem(to, block)),
    ...dueItems(
      log,
      placed.map(({ block }) => block),
    ),
  ];
  await putAll(table, items, guard, sequenceNumberOf(log.partition, first));
  if (dueAt !== undefined) await noteDue(context, log, dueAt);
  const told = new Set<Log>();
  for (const { to, block } of placed) {
    // Another sender may have overtaken this one; its block may be remembered as the end.
    if (block.store === 'live' && !told.has(to)) announce(context, to, block);
    told.add(to);
  }
  if (sessions.length > 0) await enlist(context, sessions, before);
  return offsets.map((offset) => first + BigInt(offset));
}

/** The sessions into which messages go at once. */
function sessionsOf(runs: readonly Run[]): readonly Log[] {
  return runs.flatMap(({ to, dueAt }) =>
    to.sessionId === undefined || dueAt !== undefined ? [] : [to],
  );
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

function earliest(runs: readonly Run[]): number | undefined {
  const dues = runs.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  return dues.length === 0 ? undefined : Math.min(...dues);
}

function requireOneTransaction(pieces: number): void {
  if (pieces <= TRANSACTION_ITEMS_MAX) return;
  throw new BrokerError(
    'ArgumentError',
    `The batch takes ${pieces} pieces to store as one; the limit is ${TRANSACTION_ITEMS_MAX}. Send fewer messages, or fewer scheduled enqueue times, in one batch.`,
    { subCode: '40000' },
  );
}

/**
 * Writes an item under a key that nobody else uses. A repeated try, after a lost answer, must not undo
 * what receivers have done to it since.
 */
export async function putNew(table: Table, item: Item): Promise<void> {
  await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' });
}

async function putAll(
  table: Table,
  items: readonly Item[],
  guard: Guard | undefined,
  first: bigint,
): Promise<void> {
  const [only] = items;
  if (only !== undefined && items.length === 1 && guard === undefined) {
    await putNew(table, only);
    return;
  }
  const puts = items.map((Item) => ({ Put: { TableName: table.name, Item } }));
  await transactUnder(table, guard, first, puts);
}

const NAME_BYTES = 9;

/** A name for payload items that nobody else has: 72 random bits. */
export function payloadName(random: RandomSource): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('base64url');
}
