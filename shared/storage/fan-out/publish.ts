import type { LogBatch, Publication } from '../../broker/ports/publication.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { forEachInTurns } from '../../domain/turns/work-turns.ts';
import { madeHere, toBlockItem } from '../blocks/block-item.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { announce as announceBlock } from '../blocks/read-blocks.ts';
import { prepareConditions, requireConditions } from '../duplicates/condition.ts';
import { fitsTransaction, newItems, type PreparedWrite, run } from '../dynamodb/prepared-write.ts';
import type { Item } from '../dynamodb/table.ts';
import { afterStoring, beforeStoring } from '../dynamodb/unknown-outcome.ts';
import { addReady, readyItems, wakeForSessions } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import { layOut } from './layout.ts';
import { prepareRemoval } from './move-source.ts';
import { publishInSteps } from './publish-in-steps.ts';

/**
 * Stores messages in many logs: up to a hundred items as one transaction (semantics T11). More are stored as an intent
 * first, and then in steps of up to 99 items. Each step counts itself in the progress, in the same transaction, so it
 * is done once, whichever process does it, and the sweep completes what a crash leaves. Throws NothingStored,
 * DeduplicationRefused; ConflictInProgress if the source of the messages has changed.
 */
export async function publish(
  context: StoreContext,
  { owner, batches, enqueuedAt, source, condition }: Publication,
): Promise<void> {
  const peer = {};
  const { items, logs, announce } = await beforeStoring(
    prepareBatches(context, batches, enqueuedAt, peer),
  );
  const ready = await readyItems(context, logs, context.clock.now(), peer);
  const conditions = prepareConditions(condition === undefined ? [] : [condition]);
  const removal = source === undefined ? [] : [prepareRemoval(context, source)];
  const isAlone = items.length === 1 && conditions.length + removal.length === 0;
  // What cannot be forwarded keeps its number, so another process makes blocks with the same keys.
  const blocks = source === undefined ? items : items.map((item) => madeHere(context.random, item));
  const all = isAlone ? items : [...blocks, ...ready];
  // Without `onRefused`: if the source has changed, the sweep deletes the payloads. A shared one then costs one write,
  // not one for each block.
  const parts = [...conditions, ...removal, { writes: newItems(all), announce }];
  if (fitsTransaction(context.table, parts.flatMap(({ writes }) => writes).length)) {
    const outcome = await run(context.table, parts);
    requireConditions(outcome, conditions);
    if (!outcome.done) throw superseded();
    if (isAlone) await afterStoring(addReady(context, logs));
    return;
  }
  try {
    const isDone = await publishInSteps(context, owner, all, { conditions, removal, peer });
    if (!isDone) throw superseded();
  } finally {
    // Also if the outcome of a step is unknown.
    await announce();
  }
}

/** A prepared write that stores messages in many logs; their payloads are stored already. */
export interface PreparedBatches extends PreparedWrite {
  readonly items: readonly Item[];
  /** The logs, each as often as it gets a block; sessions among them must still be added to the ready-session index. */
  readonly logs: readonly Log[];
  readonly announce: () => Promise<void>;
}

/** Prepares to store messages in many logs, in turns of `peer`, since there may be very many. */
export async function prepareBatches(
  context: StoreContext,
  batches: readonly LogBatch[],
  enqueuedAt: number,
  peer: object,
): Promise<PreparedBatches> {
  const { table, workTurns } = context;
  const placed = await layOut(context, batches, enqueuedAt, peer);
  const items: Item[] = [];
  await forEachInTurns(workTurns, peer, placed, ({ to, block }) => {
    items.push(toBlockItem(to, block));
  });
  const logs = placed.map(({ to }) => to);
  return {
    items,
    logs,
    writes: newItems(items),
    announce: async () => {
      await forEachInTurns(workTurns, peer, placed, ({ to, block }) =>
        announceBlock(context, to, block),
      );
      wakeForSessions(context, logs);
    },
    onRefused: () => {
      for (const { to, block } of placed) {
        context.background(() => releasePayload(table, to, block.payload));
      }
    },
  };
}

function superseded(): BrokerError {
  return new BrokerError('ConflictInProgress', 'Another process has already done this.');
}
