import type { WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Entity } from '../../domain/entity.ts';
import type { SubQueue } from '../../domain/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import { fromBlockItem } from '../block-item.ts';
import type { Document } from '../documents.ts';
import { keyItem } from '../dynamo.ts';
import { gravesOf, rulesOf, subscriptionsOf } from '../entity-keys.ts';
import { logKey, payloadCollection, payloadKey } from '../keys.ts';
import type { SweepParts } from './sweep.ts';

/** One run deletes about this many items. */
const ITEMS_MAX = 5000;
const PAGE_ITEMS = 500;
/** A send that was under way may still write into a log that was removed; so look again later. */
const KEPT_MS = 10 * 60_000;

const SUB_QUEUES = ['main', 'deadLetter', 'transferDeadLetter'] as const satisfies SubQueue[];

interface Grave {
  readonly pk: string;
  readonly sk: string;
  readonly removedAt: number;
  readonly entity: Entity;
  /** Set where only this generation of this sub-queue was purged. */
  readonly subQueue?: SubQueue;
  readonly generation?: number;
}

/** Deletes the messages of what was purged or deleted, a bounded number in a run. */
export async function clearGraves(parts: SweepParts): Promise<void> {
  let left = ITEMS_MAX;
  for await (const document of parts.documents.allSoon(gravesOf(parts.namespace))) {
    const grave = document as unknown as Grave;
    const deleted = await clearGrave(parts, grave, left);
    left -= deleted;
    if (left <= 0) return;
    const isOld = parts.clock.now() - grave.removedAt >= KEPT_MS;
    if (deleted === 0 && isOld) await parts.documents.delete({ pk: grave.pk, sk: grave.sk });
  }
}

async function clearGrave(parts: SweepParts, grave: Grave, limit: number): Promise<number> {
  let deleted = 0;
  for (const collection of collectionsOf(grave)) {
    if (deleted >= limit) return deleted;
    deleted += await clearCollection(parts, grave.entity, collection, limit - deleted);
  }
  const isTopic = grave.subQueue === undefined && grave.entity.description.kind === 'topic';
  return isTopic ? deleted + (await buryChildren(parts, grave, limit - deleted)) : deleted;
}

/** The item collections that belong to what was removed. */
function collectionsOf({ entity, subQueue, generation }: Grave): string[] {
  const partitions = Array.from({ length: LIMITS.partitions }, (_, partition) => partition);
  const isPartitioned =
    'enablePartitioning' in entity.description && !entity.description.enablePartitioning;
  return partitions.slice(0, isPartitioned ? 1 : undefined).flatMap((partition) => {
    const base = { entityId: entity.id, entityKey: entity.key, partition };
    if (subQueue !== undefined && generation !== undefined) {
      return [logKey({ ...base, subQueue, generation })];
    }
    const logs = SUB_QUEUES.map((name) => ({
      ...base,
      subQueue: name,
      generation: entity.generations[name],
    }));
    // Payloads last, and all of them: the blocks that named them are gone by then.
    const payloads = logs.slice(0, 1).map(payloadCollection);
    return [...logs.map(logKey), ...payloads];
  });
}

async function clearCollection(
  { context }: SweepParts,
  entity: Entity,
  collection: string,
  limit: number,
): Promise<number> {
  const { table } = context;
  let deleted = 0;
  for (;;) {
    const { items } = await table.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: collection } },
      Limit: Math.min(PAGE_ITEMS, limit),
    });
    if (items.length === 0) return deleted;
    const keys = items.flatMap((item) => {
      const key = { pk: collection, sk: item['sk']?.S ?? '' };
      return [key, ...payloadKeysOf(entity, collection, item)];
    });
    await table.writeMany(
      keys.map((key): WriteRequest => ({ DeleteRequest: { Key: keyItem(key) } })),
    );
    deleted += keys.length;
    if (deleted >= limit) return deleted;
  }
}

/** Blocks take their payloads along. */
function payloadKeysOf(
  entity: Entity,
  collection: string,
  item: Parameters<typeof fromBlockItem>[0],
) {
  const reference = item['p']?.S;
  if (reference === undefined) return [];
  const { parts } = fromBlockItem(item).payload;
  const partition = Number(/\.(\d+)[a-z]\d+$/.exec(collection)?.[1] ?? 0);
  const log = {
    entityId: entity.id,
    entityKey: entity.key,
    partition,
    subQueue: 'main',
    generation: 0,
  } as const;
  return Array.from({ length: parts }, (_, part) => payloadKey(log, reference, part));
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
