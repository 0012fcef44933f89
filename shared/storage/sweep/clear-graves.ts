import type { WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Block } from '../../domain/block.ts';
import type { SubQueue } from '../../domain/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Log } from '../../domain/log.ts';
import { fromBlockItem } from '../block-item.ts';
import { keyOf } from '../blocks.ts';
import type { Document } from '../documents.ts';
import { type Item, type ItemKey, keyItem } from '../dynamo.ts';
import { gravesOf, rulesOf, subscriptionsOf } from '../entity-keys.ts';
import type { Grave } from '../entity-removal.ts';
import { logKey, payloadCollection } from '../keys.ts';
import { deletePayload, payloadKeys } from '../payloads.ts';
import type { StoreContext } from '../store-context.ts';
import type { SweepParts } from './sweep.ts';

/** One run deletes about this many items. */
const ITEMS_MAX = 5000;
const PAGE_ITEMS = 500;
/** A send that was under way may still write into a log that was removed; so look again later. */
const KEPT_MS = 10 * 60_000;
const SETTLED_MS = 10_000;

const SUB_QUEUES = ['main', 'deadLetter', 'transferDeadLetter'] as const satisfies SubQueue[];

/** Deletes the messages of what was purged or deleted, a bounded number in a run. */
export async function clearGraves(parts: SweepParts): Promise<void> {
  let left = ITEMS_MAX;
  for await (const document of parts.documents.allSoon(gravesOf(parts.namespace))) {
    const grave = document as unknown as Grave & { pk: string; sk: string };
    const age = parts.clock.now() - grave.removedAt;
    // Until then a process may still serve what it read before; nothing is pulled from under it.
    if (age < SETTLED_MS) continue;
    const deleted = await clearGrave(parts, grave, left);
    left -= deleted;
    if (left <= 0) return;
    if (deleted === 0 && age >= KEPT_MS)
      await parts.documents.delete({ pk: grave.pk, sk: grave.sk });
  }
}

async function clearGrave(parts: SweepParts, grave: Grave, limit: number): Promise<number> {
  const { context } = parts;
  let cleared = 0;
  const logs = logsOf(grave);
  for (const log of logs) {
    if (cleared >= limit) return cleared;
    cleared += await clearLog(parts, log, limit - cleared);
  }
  if (grave.subQueue !== undefined) return cleared;
  // Of a whole entity all payloads go, also those that no block names any more.
  for (const collection of new Set(logs.map(payloadCollection))) {
    if (cleared >= limit) return cleared;
    cleared += await clearCollection(context, collection, limit - cleared, (items) =>
      deleteAll(context, items.map(keyOfItem)),
    );
  }
  const isTopic = grave.entity.description.kind === 'topic';
  return isTopic ? cleared + (await buryChildren(parts, grave, limit - cleared)) : cleared;
}

/** The logs that belong to what was removed. */
function logsOf({ entity, subQueue, generation }: Grave): Log[] {
  const partitions = Array.from({ length: LIMITS.partitions }, (_, partition) => partition);
  // A subscription does not say whether its topic is partitioned; looking costs little.
  const isWhole =
    'enablePartitioning' in entity.description && !entity.description.enablePartitioning;
  return partitions.slice(0, isWhole ? 1 : undefined).flatMap((partition) => {
    const { id, key, parentId = id } = entity;
    const base = { entityId: id, counterId: parentId, entityKey: key, partition };
    if (subQueue !== undefined && generation !== undefined) {
      return [{ ...base, subQueue, generation }];
    }
    return SUB_QUEUES.map((name) => ({
      ...base,
      subQueue: name,
      generation: entity.generations[name],
    }));
  });
}

async function clearLog({ context }: SweepParts, log: Log, limit: number): Promise<number> {
  const { table } = context;
  return await clearCollection(context, logKey(log), limit, async (items) => {
    const blocks = items.filter((item) => item['p'] !== undefined).map(fromBlockItem);
    const isShared = ({ payload }: Block) => payload.sharedIn !== undefined;
    const own = blocks.filter((block) => !isShared(block));
    await deleteAll(context, [
      ...items.filter((item) => item['w'] === undefined).map(keyOfItem),
      ...own.flatMap(({ payload }) => payloadKeys(log, payload)),
    ]);
    // Who shares a payload lets go of it once: only who really deleted the block may do so.
    for (const block of blocks.filter(isShared)) {
      const written = await table.delete(keyOf(log, block), { ReturnValues: 'ALL_OLD' });
      if (written.done && written.item !== undefined) {
        await deletePayload(table, log, block.payload);
      }
    }
  });
}

/** Reads a collection page by page and clears each page; returns how many items there were. */
async function clearCollection(
  { table }: StoreContext,
  collection: string,
  limit: number,
  clear: (items: readonly Item[]) => Promise<void>,
): Promise<number> {
  let cleared = 0;
  while (cleared < limit) {
    const { items } = await table.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: collection } },
      Limit: PAGE_ITEMS,
      ConsistentRead: true,
    });
    if (items.length === 0) break;
    await clear(items);
    cleared += items.length;
  }
  return cleared;
}

async function deleteAll({ table }: StoreContext, keys: readonly ItemKey[]): Promise<void> {
  await table.writeMany(
    keys.map((key): WriteRequest => ({ DeleteRequest: { Key: keyItem(key) } })),
  );
}

function keyOfItem(item: Item): ItemKey {
  return { pk: item['pk']?.S ?? '', sk: item['sk']?.S ?? '' };
}

/** A topic's subscriptions and rules go with it; each subscription leaves messages of its own. */
async function buryChildren(parts: SweepParts, grave: Grave, limit: number): Promise<number> {
  const { documents, namespace } = parts;
  let done = 0;
  const deleteAll = async (collection: string, before: (document: Document) => Promise<void>) => {
    for await (const document of documents.allSoon(collection)) {
      if (done >= limit) return;
      await before(document);
      await documents.delete({ pk: String(document['pk']), sk: String(document['sk']) });
      done++;
    }
  };
  await deleteAll(subscriptionsOf(namespace, grave.entity.id), async (document) => {
    const { pk: _, sk: __, ...entity } = document;
    const id = String(entity['id']);
    // First the grave, then the subscription: a crash in between only buries it twice.
    await documents.put({ pk: gravesOf(namespace), sk: id, removedAt: parts.clock.now(), entity });
  });
  await deleteAll(rulesOf(namespace, grave.entity.id), async () => {});
  return done;
}
