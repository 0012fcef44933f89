import { pack, unpack } from 'msgpackr';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError, NothingStored } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { WorkTurns } from '../../domain/turns/work-turns.ts';
import { type PreparedCondition, requireConditions } from '../duplicates/condition.ts';
import { chunks } from '../dynamodb/chunks.ts';
import { afterStoring, unknownOutcome } from '../dynamodb/errors.ts';
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
import { intentSortKey, logKey } from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';

/** What must hold, and what is written, when a publication begins; and for whom that is. */
interface Conditions {
  readonly conditions: readonly PreparedCondition[];
  /** Removes what the publication replaces. */
  readonly removal: readonly PreparedWrite[];
  /** Has the turns in which the publication is prepared. */
  readonly peer: object;
}

/** A send that is still at it is left alone for so long. */
const GRACE_PERIOD_MS = 60_000;

/**
 * Carries out a publication of more than one transaction. Its progress is written first, as prepared, and
 * the intent after it. The publication begins when the progress changes from prepared to no step done. The
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
  const intent = newIntent(context, owner, compressed, now);
  await putNew(table, { ...keyItem(progressKey(intent)), g: { N: String(PREPARED) } });
  // The sweep that removes this entry from the agenda must find the progress, so that comes before it.
  await Promise.all([table.put(intent), context.addDueWork(owner, now + GRACE_PERIOD_MS)]);
  const begun = await begin(context, intent, conditions);
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
 * From here on the intent counts: together with what it replaces, or with its deduplication condition. Throws
 * DeduplicationRefused;
 * the sweep deletes the intent then.
 */
async function begin(
  { table }: StoreContext,
  intent: Item,
  { conditions, removal }: Conditions,
): Promise<'begun' | 'superseded' | 'tooLate'> {
  const progress: PreparedWrite = { writes: [progressUpdate(intent, PREPARED, 0)] };
  const outcome = await run(table, [...conditions, ...removal, progress]);
  requireConditions(outcome, conditions);
  if (outcome.done) return 'begun';
  if (outcome.isRepeated) {
    // An earlier try of the same write may have been carried out; its progress tells.
    const done = await afterStoring(progressOf(table, intent));
    if (done === undefined || done === PREPARED) throw unknownOutcome();
    for (const one of removal) one.done?.();
    return 'begun';
  }
  return [...outcome.refused.keys()].every((one) => one === progress) ? 'tooLate' : 'superseded';
}

/** How far an intent is carried out stands beside it: a small item, since every step writes it. */
function progressKey(intent: Item): ItemKey {
  const { pk, sk } = keyOfItem(intent);
  return { pk, sk: `${sk}${PROGRESS}` };
}

const PROGRESS = '.g';
/** Stands in place of the number of steps that are done while the publication has not begun. */
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

/** Carries out what is left of an intent, and deletes it. */
async function runSteps(
  context: StoreContext,
  intent: Item,
  items: readonly Item[],
  doneBefore: number,
): Promise<void> {
  const { table } = context;
  // One place in each transaction is the progress's.
  const steps = chunks(items, table.transactionItems - 1);
  let done = doneBefore;
  while (done < steps.length) {
    const progress = progressUpdate(intent, done, done + 1);
    const outcome = await table.transact([progress, ...newItems(steps[done] ?? [])]);
    if (outcome.done) {
      done++;
      continue;
    }
    // Another one is at it as well; go on from where it is.
    const current = await progressOf(table, intent);
    if (current === undefined) return;
    done = current;
  }
  await deleteIntent(context, intent);
}

/** Deletes an intent with its progress: as a batch, for which the right to send suffices. */
async function deleteIntent({ table }: StoreContext, intent: Item): Promise<void> {
  await table.writeMany(
    [progressKey(intent), keyOfItem(intent)].map((key) => ({
      DeleteRequest: { Key: keyItem(key) },
    })),
  );
}

/**
 * Finishes the publications of a log that began before an instant, epoch ms, and that their senders left
 * half done. Gives up those that were prepared before it and have not begun.
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
    // An intent without progress belongs to a send that can never begin, and that nobody was told had succeeded.
    await resume(context, intents.get(sk) ?? { pk: { S: logKey(owner) }, sk: { S: sk } }, progress);
  }
}

/** `progress` = as it was read; undefined where the intent has none. */
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
  // It began between the reading of its intent and that of its progress.
  const whole = intent['d'] === undefined ? await table.get(keyOfItem(intent), CONSISTENT) : intent;
  if (whole === undefined) await deleteIntent(context, intent);
  else await runSteps(context, whole, await itemsOf(context, whole), done);
}

async function itemsOf({ compression }: StoreContext, intent: Item): Promise<readonly Item[]> {
  return unpack(await compression.decompress(intent['d']?.B ?? new Uint8Array())) as Item[];
}

const CONSISTENT = { consistent: true };

/** Reads to the last page: an intent whose progress is not among them would be taken for one that cannot begin. */
async function intentsUntil(
  { table }: StoreContext,
  owner: Log,
  until: number,
): Promise<readonly Item[]> {
  const intents: Item[] = [];
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
    intents.push(...page.items);
    start = page.lastKey;
  } while (start !== undefined);
  return intents;
}
