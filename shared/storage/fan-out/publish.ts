import type { Delivery, Publication } from '../../broker/ports/deliveries.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { inTurns } from '../../domain/turns/in-turns.ts';
import { toBlockItem } from '../blocks/block-item.ts';
import { deletePayload } from '../blocks/payloads.ts';
import { announce as announceBlock } from '../blocks/read-blocks.ts';
import { transactUnder } from '../duplicates/condition.ts';
import { afterStoring, beforeStoring } from '../dynamodb/errors.ts';
import { fitsTransaction, type Plan, putsOf, writeTogether } from '../dynamodb/prepared-write.ts';
import type { Item } from '../dynamodb/table.ts';
import { addReady, readyItems, wakeForSessions } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import { layOut, type Placed } from './layout.ts';
import { releasePayloads, removalsOf } from './move-source.ts';
import { publishInSteps } from './publish-in-steps.ts';

/**
 * Writes messages into many logs. Up to a hundred blocks go in as one transaction. More are written
 * down as an intent first, and then carried out a hundred at a time, each step noting in the intent,
 * in the same transaction, that it is done: so a step is done once, whoever does it, and what a crash
 * leaves half done the sweep goes on with.
 */
export async function publish(
  context: StoreContext,
  { owner, deliveries, enqueuedAt, source, condition }: Publication,
): Promise<void> {
  const { table } = context;
  const peer = {};
  const placed = await beforeStoring(layOut(context, deliveries, enqueuedAt, peer));
  const instead = source === undefined ? [] : removalsOf(context, source);
  const items = await blockItems(context, placed, peer);
  const logs = placed.map(({ to }) => to);
  const ready = await readyItems(context, logs, context.clock.now(), peer);
  const conditions = instead.length + (condition === undefined ? 0 : 1);
  const write = async (): Promise<boolean> => {
    if (items.length === 1 && conditions === 0) {
      await writeTogether(table, putsOf(table, items));
      await afterStoring(addReady(context, logs));
      return true;
    }
    if (fitsTransaction(items.length + conditions + ready.length)) {
      const writes = [...instead, ...putsOf(table, [...items, ...ready])];
      return (await transactUnder(table, condition, undefined, writes)).done;
    }
    return await publishInSteps(context, owner, [...items, ...ready], {
      instead,
      condition,
      peer,
    });
  };
  let isSuperseded = false;
  try {
    isSuperseded = !(await write());
  } finally {
    // Also what nothing was heard of may have come.
    if (!isSuperseded) await announceInTurns(context, placed, peer);
  }
  if (isSuperseded) throw superseded();
  if (source !== undefined) releasePayloads(context, source);
}

/** What comes into many logs as a part of something larger. */
export interface DeliveryPlan extends Plan {
  /** The logs, each as often as it gets a block; those that are sessions are still to be listed. */
  readonly logs: readonly Log[];
}

/** How messages come into many logs as a part of something larger; their payloads are stored. */
export async function planDeliveries(
  context: StoreContext,
  deliveries: readonly Delivery[],
  enqueuedAt: number,
): Promise<DeliveryPlan> {
  const { table } = context;
  const peer = {};
  const placed = await layOut(context, deliveries, enqueuedAt, peer);
  return {
    logs: placed.map(({ to }) => to),
    items: putsOf(table, await blockItems(context, placed, peer)),
    announce: () => announce(context, placed),
    done: () => {},
    refused: () => {
      for (const { to, block } of placed) {
        context.background(() => deletePayload(table, to, block.payload));
      }
    },
  };
}

/** Blocks as they are stored. They may be very many. */
async function blockItems(
  { workTurns }: StoreContext,
  placed: readonly Placed[],
  peer: object,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  await inTurns(workTurns, peer, placed, ({ to, block }) => {
    items.push(toBlockItem(to, block));
  });
  return items;
}

function superseded(): BrokerError {
  return new BrokerError('ConflictInProgress', 'Somebody else has done this meanwhile.');
}

async function announceInTurns(
  context: StoreContext,
  placed: readonly Placed[],
  peer: object,
): Promise<void> {
  await inTurns(context.workTurns, peer, placed, ({ to, block }) =>
    announceBlock(context, to, block),
  );
  wakeForSessions(
    context,
    placed.map(({ to }) => to),
  );
}

function announce(context: StoreContext, placed: readonly Placed[]): void {
  for (const { to, block } of placed) announceBlock(context, to, block);
  wakeForSessions(
    context,
    placed.map(({ to }) => to),
  );
}
