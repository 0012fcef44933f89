import { pack, unpack } from 'msgpackr';
import type { Log } from '../../domain/blocks/log.ts';
import {
  type BrokerError,
  messageSizeExceeded,
  NothingStored,
  serviceBusy,
  unknownOutcome,
} from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { WorkTurns } from '../../domain/turns/work-turns.ts';
import { type PreparedCondition, requireConditions } from '../duplicates/condition.ts';
import { chunks } from '../dynamodb/chunks.ts';
import { ITEM_BYTES_MAX } from '../dynamodb/item-size.ts';
import { newItems, type PreparedWrite, putNew, run } from '../dynamodb/prepared-write.ts';
import {
  type Item,
  type ItemKey,
  keyItem,
  keyOfItem,
  type Table,
  type Write,
} from '../dynamodb/table.ts';
import { afterStoring } from '../dynamodb/unknown-outcome.ts';
import { intentSortKey, logKey, randomName } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** The other writes of the transaction that starts a publication, and the owner of its turns. */
interface StartWrites {
  readonly conditions: readonly PreparedCondition[];
  /** Removes the source of the messages. */
  readonly removal: readonly PreparedWrite[];
  /** The owner of the turns in which the publication is prepared. */
  readonly peer: object;
}

/** How long the sweep leaves a publication to its sender. */
const GRACE_PERIOD_MS = 60_000;

/**
 * Publishes messages that need more than one transaction. It writes the progress first, as prepared, and then the
 * intent. The publication starts when the progress changes from prepared to no step done. After the grace period, the
 * sweep deletes a progress that is still prepared, on that condition: a delayed sender can then never start, and a
 * publication that has started is always completed. False = the source of the messages has changed. Throws
 * NothingStored.
 */
export async function publishInSteps(
  context: StoreContext,
  owner: Log,
  items: readonly Item[],
  start: StartWrites,
): Promise<boolean> {
  const { table } = context;
  const compressed = await compressedItems(context, items, start.peer);
  // Taken after packing, which may wait long for its turns.
  const now = context.clock.now();
  const intent = newIntent(context, owner, compressed, now);
  await putNew(table, { ...keyItem(progressKey(intent)), g: { N: String(PREPARED) } });
  // The progress is written first, because the sweep that does this due work must find it.
  await Promise.all([table.put(intent), context.addDueWork(owner, now + GRACE_PERIOD_MS)]);
  const begun = await begin(context, intent, start);
  if (begun === 'begun') {
    await afterStoring(runSteps(context, intent, items, 0));
    return true;
  }
  await deleteIntent(context, intent);
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

function newIntent(
  { random }: StoreContext,
  owner: Log,
  compressed: Uint8Array,
  now: number,
): Item {
  const sk = intentSortKey(now, randomName(random));
  return { pk: { S: logKey(owner) }, sk: { S: sk }, d: { B: compressed } };
}

/**
 * Packs items as one MessagePack array, a few in each turn, since there may be very many. Throws MessageSizeExceeded.
 */
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

/** MessagePack's array with a length of 4 bytes. */
const ARRAY_32 = 0xdd;
const ARRAY_HEADER_BYTES = 5;
/** How many items are packed in one turn. */
const ITEMS_PER_TURN = 20;

function tooMuch(blocks: number): BrokerError {
  return messageSizeExceeded(
    `The batch makes ${blocks} blocks for all subscriptions together, which is too much at once. Send fewer messages in a batch.`,
  );
}

function heldUp(): NothingStored {
  return new NothingStored(
    serviceBusy(
      'The operation was held up for too long and was given up; nothing was stored. Try again.',
      { subCode: '50009' },
    ),
  );
}

/**
 * Starts the publication, in one transaction with the removal of its source and its deduplication condition. Throws
 * DeduplicationRefused; the sweep then deletes the intent.
 */
async function begin(
  { table }: StoreContext,
  intent: Item,
  { conditions, removal }: StartWrites,
): Promise<'begun' | 'superseded' | 'tooLate'> {
  const progress: PreparedWrite = { writes: [progressUpdate(intent, PREPARED, 0)] };
  const outcome = await run(table, [...conditions, ...removal, progress]);
  requireConditions(outcome, conditions);
  if (outcome.done) return 'begun';
  if (outcome.isUncertain) {
    // An earlier try of the same write may have taken effect; the progress shows it.
    const done = await afterStoring(progressOf(table, intent));
    if (done === undefined || done === PREPARED) throw unknownOutcome();
    for (const one of removal) one.onDone?.();
    return 'begun';
  }
  return [...outcome.refused.keys()].every((one) => one === progress) ? 'tooLate' : 'superseded';
}

/** The key of an intent's progress, a small item of its own because every step writes it. */
function progressKey(intent: Item): ItemKey {
  const { pk, sk } = keyOfItem(intent);
  return { pk, sk: `${sk}${PROGRESS}` };
}

const PROGRESS = '.g';
/** The number of completed steps of a publication that has not started. */
const PREPARED = -1;

async function progressOf(table: Table, intent: Item): Promise<number | undefined> {
  const item = await table.get(progressKey(intent), { consistent: true });
  return item === undefined ? undefined : Number(item['g']?.N ?? 0);
}

function progressUpdate(intent: Item, from: number, to: number): Write {
  return {
    update: progressKey(intent),
    UpdateExpression: 'SET g = :to',
    ConditionExpression: 'g = :from',
    ExpressionAttributeValues: { ':from': { N: String(from) }, ':to': { N: String(to) } },
  };
}

/** Does the remaining steps of an intent, and deletes it. */
async function runSteps(
  context: StoreContext,
  intent: Item,
  items: readonly Item[],
  doneBefore: number,
): Promise<void> {
  const { table } = context;
  // One item of each transaction is the progress.
  const steps = chunks(items, table.transactionItems - 1);
  let done = doneBefore;
  while (done < steps.length) {
    const progress = progressUpdate(intent, done, done + 1);
    const outcome = await table.transact([progress, ...newItems(steps[done] ?? [])]);
    if (outcome.done) {
      done++;
      continue;
    }
    // Another process does the same steps; continue from its progress.
    const current = await progressOf(table, intent);
    if (current === undefined) return;
    done = current;
  }
  await deleteIntent(context, intent);
}

/** Deletes an intent and its progress as a batch, which needs only the rights of the send function. */
async function deleteIntent({ table }: StoreContext, intent: Item): Promise<void> {
  await table.deleteMany([progressKey(intent), keyOfItem(intent)]);
}

/**
 * Completes publications of a log that started before an instant, epoch ms, and that their senders did not complete.
 * Deletes those that were prepared before it and have not started.
 */
export async function resumePublications(
  context: StoreContext,
  owner: Log,
  until = context.clock.now() - GRACE_PERIOD_MS,
): Promise<void> {
  const items = await intentsUntil(context, owner, until);
  const isProgress = (item: Item) => keyOfItem(item).sk.endsWith(PROGRESS);
  const intents = new Map(
    items.filter((item) => !isProgress(item)).map((intent) => [keyOfItem(intent).sk, intent]),
  );
  const known = new Map(
    items.filter(isProgress).map((item) => [keyOfItem(item).sk.slice(0, -PROGRESS.length), item]),
  );
  for (const sk of new Set([...intents.keys(), ...known.keys()])) {
    const progress = known.get(sk)?.['g']?.N;
    // An intent without progress belongs to a send that can never start, and that was not answered as done.
    await resume(context, intents.get(sk) ?? { pk: { S: logKey(owner) }, sk: { S: sk } }, progress);
  }
}

/** `progress` = as it was read; undefined if the intent has none. */
async function resume(
  context: StoreContext,
  intent: Item,
  progress: string | undefined,
): Promise<void> {
  const { table } = context;
  let done = progress === undefined ? undefined : Number(progress);
  if (done === PREPARED) {
    const { done: isGivenUp } = await table.delete(progressKey(intent), {
      ConditionExpression: 'g = :prepared',
      ExpressionAttributeValues: { ':prepared': { N: String(PREPARED) } },
    });
    done = isGivenUp ? undefined : await progressOf(table, intent);
  }
  if (done === undefined) {
    await table.delete(keyOfItem(intent));
    return;
  }
  // It started between the reads of its intent and its progress.
  const whole = intent['d'] === undefined ? await table.get(keyOfItem(intent), CONSISTENT) : intent;
  if (whole === undefined) await deleteIntent(context, intent);
  else await runSteps(context, whole, await itemsOf(context, whole), done);
}

async function itemsOf({ compression }: StoreContext, intent: Item): Promise<readonly Item[]> {
  return unpack(await compression.decompress(intent['d']?.B ?? new Uint8Array())) as Item[];
}

const CONSISTENT = { consistent: true };

/** Reads all pages, since an intent whose progress was not read would look like one that can never start. */
async function intentsUntil(
  { table }: StoreContext,
  owner: Log,
  until: number,
): Promise<readonly Item[]> {
  const intents: Item[] = [];
  const pages = table.all({
    KeyConditionExpression: 'pk = :log AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':log': { S: logKey(owner) },
      ':from': { S: intentSortKey(0, '') },
      ':to': { S: intentSortKey(until, '~') },
    },
    ConsistentRead: true,
  });
  for await (const intent of pages) intents.push(intent);
  return intents;
}
