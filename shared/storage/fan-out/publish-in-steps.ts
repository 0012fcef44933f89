import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { pack, unpack } from 'msgpackr';
import type { DeduplicationCondition } from '../../broker/ports/duplicates.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError, NothingStored } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { WorkTurns } from '../../domain/turns/work-turns.ts';
import { transactUnder } from '../duplicates/condition.ts';
import { chunks } from '../dynamodb/chunks.ts';
import { afterStoring, unknownOutcome } from '../dynamodb/errors.ts';
import { ITEM_BYTES_MAX } from '../dynamodb/item-size.ts';
import { putNew, putsOf } from '../dynamodb/prepared-write.ts';
import {
  type Item,
  type ItemKey,
  keyItem,
  type Table,
  TRANSACTION_ITEMS_MAX,
} from '../dynamodb/table.ts';
import { intentSortKey, logKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** What must hold, and what is written, when a publication begins; and for whom that is. */
interface Conditions {
  /** Removes what the publication replaces. */
  readonly instead: readonly TransactWriteItem[];
  readonly condition: DeduplicationCondition | undefined;
  /** Has the turns in which the publication is prepared. */
  readonly peer: object;
}

/** One place in each transaction is the intent's. */
const STEP_ITEMS = TRANSACTION_ITEMS_MAX - 1;
/** A send that is still at it is left alone for so long. */
const PATIENCE_MS = 60_000;

/**
 * Carries out a publication of more than one transaction. Its progress is written first, as prepared, and
 * the plan after it. The publication begins when the progress changes from prepared to no step done. The
 * sweep deletes a progress that is still prepared after the grace period, on the condition that it is: a
 * sender that was held up can then never begin, and one that has begun is always finished.
 * False = what it was to replace has gone elsewhere meanwhile. Throws NothingStored.
 */
export async function publishInSteps(
  context: StoreContext,
  owner: Log,
  items: readonly Item[],
  conditions: Conditions,
): Promise<boolean> {
  const { table } = context;
  const compressed = await compressedItems(context, items, conditions.peer);
  // Not before: the turns in which they are packed may be long in coming.
  const now = context.clock.now();
  const plan = newPlan(context, owner, compressed, now);
  await putNew(table, { ...keyItem(progressKey(plan)), g: { N: String(PREPARED) } });
  // The sweep that removes this entry from the agenda must find the progress, so that comes before it.
  await Promise.all([table.put(plan), context.addDueWork(owner, now + PATIENCE_MS)]);
  const begun = await begin(context, plan, conditions);
  if (begun === 'begun') {
    await afterStoring(carryOut(context, plan, items, 0));
    return true;
  }
  await deletePlan(context, plan);
  if (begun === 'tooLate') throw heldUp();
  return false;
}

/** Throws MessageSizeExceeded. */
async function compressedItems(
  { compression, workTurns }: StoreContext,
  items: readonly Item[],
  peer: object,
): Promise<Uint8Array> {
  const plain = await packed(items, workTurns, peer);
  const compressed = await compression.compress(plain);
  if (compressed.byteLength > ITEM_BYTES_MAX) throw tooMuch(items.length);
  return compressed;
}

function newPlan({ random }: StoreContext, owner: Log, compressed: Uint8Array, now: number): Item {
  const name = Buffer.from(random.bytes(9)).toString('base64url');
  return { pk: { S: logKey(owner) }, sk: { S: intentSortKey(now, name) }, d: { B: compressed } };
}

/** Items as one MessagePack array, a few at a time: they may be very many. Throws MessageSizeExceeded. */
async function packed(
  items: readonly Item[],
  workTurns: Pick<WorkTurns, 'next'>,
  peer: object,
): Promise<Uint8Array> {
  const header = Buffer.alloc(ARRAY_HEADER_BYTES);
  header[0] = ARRAY_32;
  header.writeUInt32BE(items.length, 1);
  const pieces: Uint8Array[] = [header];
  let bytes = header.byteLength;
  for (const [i, item] of items.entries()) {
    if (i % ITEMS_PER_TURN === 0 && i > 0) await workTurns.next(peer);
    const piece = pack(item);
    bytes += piece.byteLength;
    if (bytes > BUDGETS.stored.intentBytes) throw tooMuch(items.length);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** An array of up to 2^32 values, and how many follow in 4 bytes. */
const ARRAY_32 = 0xdd;
const ARRAY_HEADER_BYTES = 5;
/** So many items are packed before others may have their turn. */
const ITEMS_PER_TURN = 20;

function tooMuch(blocks: number): BrokerError {
  return new BrokerError(
    'MessageSizeExceeded',
    `The batch makes ${blocks} blocks for all subscriptions together, which is too much at once. Send fewer messages in a batch.`,
  );
}

function heldUp(): NothingStored {
  return new NothingStored(
    new BrokerError(
      'ServiceBusy',
      'The operation was held up for too long and was given up; nothing was stored. Try again.',
      { subCode: '50009' },
    ),
  );
}

/**
 * From here on the plan counts: together with what it replaces, or with its deduplication condition. Throws
 * DeduplicationRefused;
 * the sweep deletes the plan then.
 */
async function begin(
  { table }: StoreContext,
  plan: Item,
  { instead, condition }: Conditions,
): Promise<'begun' | 'superseded' | 'tooLate'> {
  const progress = progressUpdate(table.name, plan, PREPARED, 0);
  const writes = [...instead, progress];
  const outcome = await transactUnder(table, condition, undefined, writes);
  if (outcome.done) return 'begun';
  if (outcome.isRepeated) {
    // An earlier try of the same write may have been carried out; its progress tells.
    const done = await afterStoring(progressOf(table, plan));
    if (done === undefined || done === PREPARED) throw unknownOutcome();
    return 'begun';
  }
  const place = writes.length - 1 + (condition === undefined ? 0 : 1);
  return [...outcome.refused.keys()].every((refused) => refused === place)
    ? 'tooLate'
    : 'superseded';
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
/** Stands in place of the number of steps that are done while the publication has not begun. */
const PREPARED = -1;

async function progressOf(table: Table, plan: Item): Promise<number | undefined> {
  const item = await table.get(progressKey(plan), { consistent: true });
  return item === undefined ? undefined : Number(item['g']?.N ?? 0);
}

function progressUpdate(TableName: string, plan: Item, from: number, to: number) {
  return {
    Update: {
      TableName,
      Key: keyItem(progressKey(plan)),
      UpdateExpression: 'SET g = :to',
      ConditionExpression: 'g = :from',
      ExpressionAttributeValues: { ':from': { N: String(from) }, ':to': { N: String(to) } },
    },
  };
}

/** Carries out what is left of a plan, and deletes it. */
async function carryOut(
  context: StoreContext,
  plan: Item,
  items: readonly Item[],
  doneBefore: number,
): Promise<void> {
  const { table } = context;
  const steps = chunks(items, STEP_ITEMS);
  let done = doneBefore;
  while (done < steps.length) {
    const progress = progressUpdate(table.name, plan, done, done + 1);
    const outcome = await table.transact([progress, ...putsOf(table, steps[done] ?? [])]);
    if (outcome.done) {
      done++;
      continue;
    }
    // Another one is at it as well; go on from where it is.
    const current = await progressOf(table, plan);
    if (current === undefined) return;
    done = current;
  }
  await deletePlan(context, plan);
}

/** Deletes a plan with its progress: as a batch, for which the right to send suffices. */
async function deletePlan({ table }: StoreContext, plan: Item): Promise<void> {
  await table.writeMany(
    [progressKey(plan), keyOfPlan(plan)].map((key) => ({ DeleteRequest: { Key: keyItem(key) } })),
  );
}

/**
 * Finishes the publications of a log that began before an instant, epoch ms, and that their senders left
 * half done. Gives up those that were prepared before it and have not begun.
 */
export async function resumePublications(
  context: StoreContext,
  owner: Log,
  until = context.clock.now() - PATIENCE_MS,
): Promise<void> {
  const items = await plansUntil(context, owner, until);
  const isProgress = (item: Item) => keyOfPlan(item).sk.endsWith(PROGRESS);
  const plans = new Map(
    items.filter((item) => !isProgress(item)).map((plan) => [keyOfPlan(plan).sk, plan]),
  );
  const known = new Map(
    items.filter(isProgress).map((item) => [keyOfPlan(item).sk.slice(0, -PROGRESS.length), item]),
  );
  for (const sk of new Set([...plans.keys(), ...known.keys()])) {
    const progress = known.get(sk)?.['g']?.N;
    // A plan without progress belongs to a send that can never begin, and that nobody was told had succeeded.
    await resume(context, plans.get(sk) ?? { pk: { S: logKey(owner) }, sk: { S: sk } }, progress);
  }
}

/** `progress` = as it was read; undefined where the plan has none. */
async function resume(
  context: StoreContext,
  plan: Item,
  progress: string | undefined,
): Promise<void> {
  const { table } = context;
  let done = progress === undefined ? undefined : Number(progress);
  if (done === PREPARED) {
    const { done: isGivenUp } = await table.delete(progressKey(plan), {
      ConditionExpression: 'g = :prepared',
      ExpressionAttributeValues: { ':prepared': { N: String(PREPARED) } },
    });
    done = isGivenUp ? undefined : await progressOf(table, plan);
  }
  if (done === undefined) {
    await table.delete(keyOfPlan(plan));
    return;
  }
  // It began between the reading of its plan and that of its progress.
  const whole = plan['d'] === undefined ? await table.get(keyOfPlan(plan), CONSISTENT) : plan;
  if (whole === undefined) await deletePlan(context, plan);
  else await carryOut(context, whole, await itemsOf(context, whole), done);
}

async function itemsOf({ compression }: StoreContext, plan: Item): Promise<readonly Item[]> {
  return unpack(await compression.decompress(plan['d']?.B ?? new Uint8Array())) as Item[];
}

const CONSISTENT = { consistent: true };

/** Reads to the last page: a plan whose progress is not among them would be taken for one that cannot begin. */
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
