import type { Block } from '../domain/block.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { RandomSource } from '../domain/clock.ts';
import type { Log } from '../domain/log.ts';
import type { Message } from '../domain/message.ts';
import { toBlockItem } from './block-item.ts';
import { noteDue, toDueItem } from './due-times.ts';
import { type Item, TRANSACTION_ITEMS_MAX } from './dynamo.ts';
import { takeNumbers } from './head.ts';
import { blockSortKey, logKey } from './keys.ts';
import { type Numbered, packBlocks } from './pack-blocks.ts';
import { deletePayload, putPayload } from './payloads.ts';
import { carryOut, fitsTransaction, type Plan, putsOf } from './plan.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Stores messages at the end of a log, or among its scheduled ones where they are not due yet: two
 * round trips. First the numbers are taken and, at the same time, payload items are written under
 * names of their own; then the blocks go in, in one write or one transaction. So a send is stored
 * whole or not at all, and what a crash leaves behind is a gap in the numbers or payload items that
 * no block names. Returns the numbers, in the order of the messages.
 *
 * Throws MessagingEntityNotFound where the entity is gone, ArgumentError, ServiceBusy,
 * ServiceTimeout.
 */
export async function append(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
): Promise<readonly bigint[]> {
  const plan = await planAppend(context, log, messages, now, requireOneTransaction);
  await carryOut(context.table, plan);
  await plan.noteDueAgain();
  return plan.numbers;
}

/** What is to be written for messages whose numbers are taken, and whose payloads are stored. */
export interface AppendPlan extends Plan {
  /** In the order of the messages. */
  readonly numbers: readonly bigint[];
  /** To be called once the messages are in. */
  readonly noteDueAgain: () => Promise<void>;
}

/** `requireFit` refuses what is more pieces than can go in together, before anything is written. */
export async function planAppend(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
  requireFit: (pieces: number) => void,
): Promise<AppendPlan> {
  const { table, random } = context;
  const runs = runsByDueTime(messages, now);
  const packed = runs.flatMap(({ dueAt, messages: run }) =>
    packBlocks(log, run, dueAt ?? now, () => payloadName(random)).map((block) => ({
      dueAt,
      ...block,
    })),
  );
  const pieces = packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
  const dueAt = earliest(runs);
  requireFit(packed.length + runs.filter((run) => run.dueAt !== undefined).length);
  const bytes = packed.reduce((sum, { payload }) => sum + payload.bytes, 0);
  const [{ first, bytesIn }] = await Promise.all([
    takeNumbers(table, log, { count: messages.length, bytes, now }),
    putPayload(table, log, pieces, now),
    // Noted before, so that a crash leaves nothing that never comes due, and again afterwards, since
    // an activation in between may have found nothing yet.
    dueAt === undefined ? undefined : noteDue(context, log, dueAt),
  ]);

  context.gauge.note(log, bytesIn);
  const blocks = packed.map(({ dueAt: due, parts: _, offset, ...rest }): Block => {
    const store = due === undefined ? 'live' : 'scheduled';
    return { store, sequence: first + BigInt(offset), enqueuedAt: due ?? now, ...rest };
  });
  return {
    items: putsOf(table, [
      ...blocks.map((block) => toBlockItem(log, block)),
      ...dueItems(log, blocks),
    ]),
    numbers: messages.map((_, offset) => first + BigInt(offset)),
    noteDueAgain: async () => {
      if (dueAt !== undefined) await noteDue(context, log, dueAt);
    },
    done: () => {
      if (runs.every((run) => run.dueAt !== undefined)) return;
      // Another sender may have overtaken this one; its block may be remembered as the end.
      context.fronts.noteBlock(logKey(log), blockSortKey('live', first));
      context.signal(logKey(log));
    },
    refused: () => {
      for (const { payload } of packed) {
        context.background(() => deletePayload(table, log, payload));
      }
    },
  };
}

/** Messages that come due together. */
interface Run {
  readonly dueAt: number | undefined;
  readonly messages: readonly Numbered[];
}

/** A block holds messages of one due time; what is due already is sent now. */
function runsByDueTime(messages: readonly Message[], now: number): readonly Run[] {
  const runs = new Map<number | undefined, Numbered[]>();
  for (const [offset, message] of messages.entries()) {
    const { scheduledEnqueueAt } = message;
    const isLater = scheduledEnqueueAt !== undefined && scheduledEnqueueAt > now;
    const dueAt = isLater ? scheduledEnqueueAt : undefined;
    const run = runs.get(dueAt);
    if (run === undefined) runs.set(dueAt, [{ offset, message }]);
    else run.push({ offset, message });
  }
  return Array.from(runs, ([dueAt, run]) => ({ dueAt, messages: run }));
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
  if (fitsTransaction(pieces)) return;
  throw new BrokerError(
    'ArgumentError',
    `The batch takes ${pieces} pieces to store as one; the limit is ${TRANSACTION_ITEMS_MAX}. Send fewer messages, or fewer scheduled enqueue times, in one batch.`,
    { subCode: '40000' },
  );
}

const NAME_BYTES = 9;

/** A name for payload items that nobody else has: 72 random bits. */
export function payloadName(random: RandomSource): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('base64url');
}
