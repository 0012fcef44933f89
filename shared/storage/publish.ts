import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { pack, unpack } from 'msgpackr';
import type { Delivery, Publication } from '../broker/ports.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { Log } from '../domain/log.ts';
import { type BatchPlace, letGo, removalsOf } from './batch-place.ts';
import { toBlockItem } from './block-item.ts';
import { announce as announceBlock } from './blocks.ts';
import { chunks } from './chunks.ts';
import { layOut, type Placed } from './deliver.ts';
import { type Item, type ItemKey, keyItem, TRANSACTION_ITEMS_MAX } from './dynamo.ts';
import { beforeStoring } from './failures.ts';
import { type Guard, transactUnder } from './guard.ts';
import { ITEM_BYTES_MAX } from './item-size.ts';
import { intentSortKey, logKey } from './keys.ts';
import { deletePayload } from './payloads.ts';
import { fitsTransaction, type Plan, putsOf, writeTogether } from './plan.ts';
import { announceWaiting, enlist, listingItems } from './sessions/listings.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Writes messages into many logs. Up to a hundred blocks go in as one transaction. More are written
 * down as an intent first, and then carried out a hundred at a time, each step noting in the intent,
 * in the same transaction, that it is done: so a step is done once, whoever does it, and what a crash
 * leaves half done the sweep goes on with.
 */
export async function publish(
  context: StoreContext,
  { owner, deliveries, enqueuedAt, instead: replaced, guard: note }: Publication,
): Promise<void> {
  const { table } = context;
  const placed = await beforeStoring(layOut(context, deliveries, enqueuedAt));
  const place = replaced?.place as BatchPlace | undefined;
  const instead = place === undefined ? [] : removalsOf(context, place);
  const items = placed.map(({ to, block }) => toBlockItem(to, block));
  const logs = placed.map(({ to }) => to);
  const listings = listingItems(context, logs, context.clock.now());
  const guard = note as Guard | undefined;
  const conditions = instead.length + (guard === undefined ? 0 : 1);
  const write = async (): Promise<boolean> => {
    if (items.length === 1 && conditions === 0) {
      await writeTogether(table, putsOf(table, items));
      await enlist(context, logs);
      return true;
    }
    if (fitsTransaction(items.length + conditions + listings.length)) {
      const writes = [...instead, ...putsOf(table, [...items, ...listings])];
      return (await transactUnder(table, guard, undefined, writes)).done;
    }
    return await publishInSteps(context, owner, [...items, ...listings], { instead, guard });
  };
  let isSuperseded = false;
  try {
    isSuperseded = !(await write());
  } finally {
    // Also what nothing was heard of may have come.
    if (!isSuperseded) announce(context, placed);
  }
  if (isSuperseded) throw superseded();
  if (place !== undefined) letGo(context, place);
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
  const placed = await layOut(context, deliveries, enqueuedAt);
  return {
    logs: placed.map(({ to }) => to),
    items: putsOf(
      table,
      placed.map(({ to, block }) => toBlockItem(to, block)),
    ),
    announce: () => announce(context, placed),
    done: () => {},
    refused: () => {
      for (const { to, block } of placed) {
        context.background(() => deletePayload(table, to, block.payload));
      }
    },
  };
}

function superseded(): BrokerError {
  return new BrokerError('ConflictInProgress', 'Somebody else has done this meanwhile.');
}

function announce(context: StoreContext, placed: readonly Placed[]): void {
  for (const { to, block } of placed) announceBlock(context, to, block);
  announceWaiting(
    context,
    placed.map(({ to }) => to),
  );
}

/** One place in each transaction is the intent's. */
const STEP_ITEMS = TRANSACTION_ITEMS_MAX - 1;
/** A send that is still at it is left alone for so long. */
const PATIENCE_MS = 60_000;

/** False = what it was to replace has gone elsewhere meanwhile. */
async function publishInSteps(
  context: StoreContext,
  owner: Log,
  items: readonly Item[],
  conditions: { readonly instead: readonly TransactWriteItem[]; readonly guard: Guard | undefined },
): Promise<boolean> {
  const now = context.clock.now();
  const name = Buffer.from(context.random.bytes(9)).toString('base64url');
  const packed = brotliCompressSync(pack(items));
  if (packed.byteLength > ITEM_BYTES_MAX) {
    throw new BrokerError(
      'MessageSizeExceeded',
      `The batch makes ${items.length} blocks for all subscriptions together, which is too much at once. Send fewer messages in a batch.`,
    );
  }
  const plan: Item = {
    pk: { S: logKey(owner) },
    sk: { S: intentSortKey(now, name) },
    d: { B: packed },
  };
  await context.noteWork(owner, now + PATIENCE_MS);
  await context.table.put(plan);
  // The plan counts from here on: together with what it replaces, or with its guard. One that a guard
  // refused is the sweep's to delete.
  const progress: Item = { ...keyItem(progressKey(plan)), g: { N: '0' } };
  const { instead, guard } = conditions;
  const writes = [...instead, ...putsOf(context.table, [progress])];
  const outcome = await transactUnder(context.table, guard, undefined, writes);
  // Where an earlier try of the same write may have been carried out, its progress tells.
  const isBegun = outcome.done || (outcome.isRepeated && (await hasProgress(context, plan)));
  if (isBegun) await carryOut(context, plan, 0);
  else await context.table.delete(keyOfPlan(plan));
  return isBegun;
}

async function hasProgress({ table }: StoreContext, plan: Item): Promise<boolean> {
  return (await table.get(progressKey(plan), { consistent: true })) !== undefined;
}

function keyOfPlan(plan: Item): ItemKey {
  return { pk: plan['pk']?.S ?? '', sk: plan['sk']?.S ?? '' };
}

/** How far a plan is carried out stands beside it: a small item, since every step writes it. */
function progressKey(plan: Item): ItemKey {
  const { pk, sk } = keyOfPlan(plan);
  return { pk, sk: `${sk}${PROGRESS}` };
}

const PROGRESS = '.g';

/** Carries out what is left of a plan, and strikes it off. */
async function carryOut(context: StoreContext, plan: Item, doneBefore: number): Promise<void> {
  const { table } = context;
  const key = progressKey(plan);
  const items = unpack(brotliDecompressSync(plan['d']?.B ?? new Uint8Array())) as Item[];
  const steps = chunks(items, STEP_ITEMS);
  let done = doneBefore;
  while (done < steps.length) {
    const step = {
      TableName: table.name,
      Key: keyItem(key),
      UpdateExpression: 'SET g = :next',
      ConditionExpression: 'g = :done',
      ExpressionAttributeValues: { ':done': { N: String(done) }, ':next': { N: String(done + 1) } },
    };
    const outcome = await table.transact([{ Update: step }, ...putsOf(table, steps[done] ?? [])]);
    if (outcome.done) {
      done++;
      continue;
    }
    // Another one is at it as well; go on from where it is.
    const current = await table.get(key, { consistent: true });
    if (current === undefined) return;
    done = Number(current['g']?.N ?? 0);
  }
  // As a batch, for which the right to send suffices.
  await table.writeMany(
    [key, keyOfPlan(plan)].map((gone) => ({ DeleteRequest: { Key: keyItem(gone) } })),
  );
}

/** Goes on with what was begun until an instant, epoch ms, and left half done. */
export async function resumePublications(
  context: StoreContext,
  owner: Log,
  until = context.clock.now() - PATIENCE_MS,
): Promise<void> {
  const items = await plansUntil(context, owner, until);
  const progress = new Map(
    items.flatMap((item) => {
      const sk = item['sk']?.S ?? '';
      return sk.endsWith(PROGRESS) ? [[sk.slice(0, -PROGRESS.length), Number(item['g']?.N)]] : [];
    }),
  );
  for (const plan of items) {
    const { sk } = keyOfPlan(plan);
    if (sk.endsWith(PROGRESS)) continue;
    const done = progress.get(sk);
    // A plan that was never begun belongs to a send that nobody was told had succeeded.
    if (done === undefined) await context.table.delete(keyOfPlan(plan));
    else await carryOut(context, plan, done);
  }
}

/** To the last page: a plan whose progress is not among them would be taken for one never begun. */
async function plansUntil(
  { table }: StoreContext,
  owner: Log,
  until: number,
): Promise<readonly Item[]> {
  const plans: Item[] = [];
  let start: Item | undefined;
  do {
    const page = await table.query({
      KeyConditionExpression: 'pk = :log AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':log': { S: logKey(owner) },
        ':from': { S: intentSortKey(0, '') },
        ':to': { S: intentSortKey(until, '~') },
      },
      ConsistentRead: true,
      ...(start === undefined ? {} : { ExclusiveStartKey: start }),
    });
    plans.push(...page.items);
    start = page.lastKey;
  } while (start !== undefined);
  return plans;
}
