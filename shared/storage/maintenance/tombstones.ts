import type { WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { deletePayload, payloadKeys } from '../blocks/payloads.ts';
import { type Item, type ItemKey, keyItem } from '../dynamodb/table.ts';
import type { Grave } from '../entities/entity-removal.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import { gravesOf, rulesOf, subscriptionsOf } from '../schema/entity-keys.ts';
import {
  headKey,
  listingCollection,
  logKey,
  payloadCollection,
  sessionsCollection,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import type { SweepParts, SweepRun } from './sweep-run.ts';

/** One run deletes about this many items. */
const ITEMS_MAX = 5000;
const PAGE_ITEMS = 500;
/** A send that was under way may still write into a log that was removed; so look again later. */
const KEPT_MS = 10 * 60_000;
const SETTLED_MS = 10_000;

const SUB_QUEUES = ['main', 'deadLetter', 'transferDeadLetter'] as const satisfies SubQueue[];

/**
 * Deletes the messages of what was purged or deleted, a bounded number in a run. What cannot be cleared
 * keeps nothing else waiting.
 */
export async function clearGraves(run: SweepRun): Promise<void> {
  const { documents, namespace } = run.parts;
  let left = ITEMS_MAX;
  for await (const document of documents.allSoon(gravesOf(namespace))) {
    if (left <= 0 || run.isOver('graves')) return;
    const grave = document as unknown as StoredGrave;
    await run.attempt(`What was removed of '${grave.entity.name}' was not cleared.`, async () => {
      left -= await clearInTime(run.parts, grave, left);
    });
  }
}

type StoredGrave = Grave & ItemKey;

/** Returns how many items were deleted. */
async function clearInTime(parts: SweepParts, grave: StoredGrave, limit: number): Promise<number> {
  const age = parts.clock.now() - grave.removedAt;
  // Until then a process may still serve what it read before; nothing is pulled from under it.
  if (age < SETTLED_MS) return 0;
  const deleted = await clearGrave(parts, grave, limit);
  if (deleted === 0 && age >= KEPT_MS) {
    await parts.documents.delete({ pk: grave.pk, sk: grave.sk });
  }
  return deleted;
}

async function clearGrave(parts: SweepParts, grave: Grave, limit: number): Promise<number> {
  let cleared = 0;
  const logs = logsOf(grave);
  for (const log of logs) {
    if (cleared >= limit) return cleared;
    cleared += await clearLog(parts, log, limit - cleared);
    if (log.subQueue === 'main') cleared += await clearAll(parts, listingCollection(log), limit);
  }
  if (grave.subQueue !== undefined) return cleared;
  // Of a whole entity all payloads go, also those that no block names any more.
  const collections = logs.flatMap((log) => [payloadCollection(log), sessionsCollection(log)]);
  for (const collection of new Set(collections)) {
    if (cleared >= limit) return cleared;
    cleared += await clearAll(parts, collection, limit - cleared);
  }
  const { entity } = grave;
  if (entity.parentId !== undefined) {
    await clearRules(parts, entity.parentId, `${entity.id}/`);
  }
  const isTopic = entity.description.kind === 'topic';
  return isTopic ? cleared + (await buryChildren(parts, grave, limit - cleared)) : cleared;
}

/** The logs that belong to what was removed. */
function logsOf({ entity, partitions: count, subQueue, generation }: Grave): Log[] {
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  return partitions.flatMap((partition) => {
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
  // What was under way into other entities is theirs already.
  await resumePublications(context, log, context.clock.now());
  return await clearCollection(context, logKey(log), limit, async (items) => {
    const blocks = items
      .filter((item) => item['p'] !== undefined)
      .map((item) => ({ key: keyOfItem(item), ...fromBlockItem(item) }));
    const isShared = ({ payload }: Block) => payload.sharedIn !== undefined;
    const own = blocks.filter((block) => !isShared(block));
    await deleteAll(context, [
      ...items.filter((item) => item['w'] === undefined).map(keyOfItem),
      ...own.flatMap(({ payload }) => payloadKeys(log, payload)),
    ]);
    // Who shares a payload lets go of it once: only who really deleted the block may do so.
    for (const { key, payload } of blocks.filter(isShared)) {
      const written = await table.delete(key, { ReturnValues: 'ALL_OLD' });
      if (written.done && written.item !== undefined) {
        await deletePayload(table, log, payload);
      }
    }
  });
}

function clearAll({ context }: SweepParts, collection: string, limit: number): Promise<number> {
  return clearCollection(context, collection, limit, (items) =>
    deleteAll(context, items.map(keyOfItem)),
  );
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

async function clearRules(
  { documents, namespace }: SweepParts,
  topicId: string,
  prefix?: string,
): Promise<number> {
  let cleared = 0;
  for await (const document of documents.allSoon(rulesOf(namespace, topicId), prefix)) {
    await documents.delete({ pk: String(document['pk']), sk: String(document['sk']) });
    cleared++;
  }
  return cleared;
}

/** A topic's subscriptions and rules go with it; each subscription leaves messages of its own. */
async function buryChildren(parts: SweepParts, grave: Grave, limit: number): Promise<number> {
  const { context, documents, namespace, clock } = parts;
  let done = 0;
  for await (const document of documents.allSoon(subscriptionsOf(namespace, grave.entity.id))) {
    if (done >= limit) return done;
    const { pk, sk, ...entity } = document;
    const id = String(entity['id']);
    const { partitions } = grave;
    // First the grave, then the subscription: a crash in between only buries it twice.
    const child = { removedAt: clock.now(), entity, partitions };
    await documents.put({ pk: gravesOf(namespace), sk: id, ...child });
    const heads = Array.from({ length: partitions }, (_, partition) => headKey(id, partition));
    await deleteAll(context, heads);
    await documents.delete({ pk: String(pk), sk: String(sk) });
    done++;
  }
  return done + (await clearRules(parts, grave.entity.id));
}
