import type { PayloadPlace } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { SUB_QUEUES } from '../../domain/entities/entity-path.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { payloadKeys, releasePayload } from '../blocks/payloads.ts';
import { type Item, type ItemKey, keyOfItem } from '../dynamodb/table.ts';
import type { Tombstone } from '../entities/entity-removal.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import {
  consumerStatesOf,
  quotaCountsKey,
  rulesOf,
  subscriptionsOf,
  tombstonesCollection,
} from '../schema/entity-keys.ts';
import {
  headerKey,
  logKey,
  payloadCollection,
  readyCollection,
  sessionsCollection,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import type { SweepDependencies, SweepRun } from './sweep-run.ts';

/** One run deletes about this many items at most. */
const ITEMS_MAX = 5000;
const PAGE_ITEMS = 500;
/** Blocks with a payload that are deleted at a time, each by a request of its own. */
const WIDTH = 25;
/** How long a tombstone stays: a send that was under way may still write into the removed log. */
const KEPT_MS = 10 * 60_000;
/** No message is deleted before: until then a process may serve what it read earlier. */
const SETTLED_MS = 10_000;

/**
 * Deletes the messages of purged and deleted entities, up to a limit in each run. A tombstone that cannot be cleared
 * delays no other.
 */
export async function clearTombstones(run: SweepRun): Promise<void> {
  const { documents, namespace } = run.dependencies;
  let left = ITEMS_MAX;
  for await (const document of documents.allStale(tombstonesCollection(namespace))) {
    if (left <= 0 || run.isOver('tombstones')) return;
    const tombstone = document as unknown as StoredTombstone;
    await run.attempt(
      `The removed messages of '${tombstone.entity.name}' were not deleted.`,
      async () => {
        left -= await clearInTime(run.dependencies, tombstone, left);
      },
    );
  }
}

/** A tombstone with its key. */
export type StoredTombstone = Tombstone & ItemKey;

/** Returns how many items were deleted. */
async function clearInTime(
  dependencies: SweepDependencies,
  tombstone: StoredTombstone,
  limit: number,
): Promise<number> {
  const age = dependencies.clock.now() - tombstone.removedAt;
  if (age < SETTLED_MS) return 0;
  const deleted = await clearMessages(dependencies, tombstone, limit);
  if (deleted === 0 && age >= KEPT_MS) await removeTombstone(dependencies, tombstone);
  return deleted;
}

/** Removes a tombstone whose messages are deleted. One write unit, two for a topic, and one for each consumer. */
export async function removeTombstone(
  { documents, namespace }: SweepDependencies,
  { pk, sk, entity, subQueue, wasConsumed }: StoredTombstone,
): Promise<void> {
  const isTopic = subQueue === undefined && entity.description.kind === 'topic';
  if (isTopic) await documents.delete(quotaCountsKey(namespace, entity.id));
  if (subQueue === undefined && wasConsumed) {
    for await (const state of documents.allStale(consumerStatesOf(namespace, entity.id))) {
      await documents.delete({ pk: String(state['pk']), sk: String(state['sk']) });
    }
  }
  await documents.delete({ pk, sk });
}

/**
 * Deletes what a tombstone covers, about `limit` items at most; subscriptions of a topic get tombstones of their own.
 * Returns how many items were deleted: after 0, nothing is left.
 */
export async function clearMessages(
  dependencies: SweepDependencies,
  tombstone: Tombstone,
  limit: number,
): Promise<number> {
  let cleared = 0;
  const logs = logsOf(tombstone);
  for (const log of logs) {
    if (cleared >= limit) return cleared;
    cleared += await clearLog(dependencies, log, limit - cleared);
    if (log.subQueue === 'main')
      cleared += await clearAll(dependencies, readyCollection(log), limit);
  }
  if (tombstone.subQueue !== undefined) return cleared;
  // With a whole entity all payloads go, also those that no block refers to.
  const collections = logs.flatMap((log) => [payloadCollection(log), sessionsCollection(log)]);
  for (const collection of new Set(collections)) {
    if (cleared >= limit) return cleared;
    cleared += await clearAll(dependencies, collection, limit - cleared);
  }
  const { entity } = tombstone;
  if (entity.parentId !== undefined) {
    await clearRules(dependencies, entity.parentId, `${entity.id}/`);
  }
  const isTopic = entity.description.kind === 'topic';
  return isTopic
    ? cleared + (await removeChildren(dependencies, tombstone, limit - cleared))
    : cleared;
}

/** The logs whose messages a tombstone covers. */
function logsOf({ entity, partitions: count, subQueue, generation }: Tombstone): Log[] {
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  return partitions.flatMap((partition) => {
    const { id, key, parentId = id } = entity;
    const base = { entityId: id, headerEntityId: parentId, entityKey: key, partition };
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

async function clearLog({ context }: SweepDependencies, log: Log, limit: number): Promise<number> {
  const { table } = context;
  // Messages on their way to other entities belong to those already.
  await resumePublications(context, log, context.clock.now());
  return await clearCollection(context, logKey(log), limit, async (items) => {
    const blocks = items
      .filter((item) => item['p'] !== undefined)
      .map((item) => ({ key: keyOfItem(item), ...fromBlockItem(item) }));
    await table.deleteMany(items.filter((item) => item['p'] === undefined).map(keyOfItem));
    // Only who deletes a block may delete its payload or release its reference to a shared one: a frozen process may
    // just have moved its messages to a block that keeps the payload.
    const deleted: PayloadPlace[] = [];
    await inParallel(blocks, WIDTH, async ({ key, payload }) => {
      const written = await table.delete(key, { ReturnValues: 'ALL_OLD' });
      if (written.done && written.item !== undefined) deleted.push(payload);
    });
    const own = deleted.filter(({ sharedIn }) => sharedIn === undefined);
    await table.deleteMany(own.flatMap((payload) => payloadKeys(log, payload)));
    for (const payload of deleted) {
      if (payload.sharedIn !== undefined) await releasePayload(table, log, payload);
    }
  });
}

function clearAll(
  { context }: SweepDependencies,
  collection: string,
  limit: number,
): Promise<number> {
  return clearCollection(context, collection, limit, (items) =>
    context.table.deleteMany(items.map(keyOfItem)),
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

async function clearRules(
  { documents, namespace }: SweepDependencies,
  topicId: string,
  prefix?: string,
): Promise<number> {
  let cleared = 0;
  for await (const document of documents.allStale(rulesOf(namespace, topicId), prefix)) {
    await documents.delete({ pk: String(document['pk']), sk: String(document['sk']) });
    cleared++;
  }
  return cleared;
}

/** Removes a topic's rules and subscriptions; each subscription gets a tombstone for its messages. */
async function removeChildren(
  dependencies: SweepDependencies,
  { entity: topic, partitions }: Tombstone,
  limit: number,
): Promise<number> {
  const { context, documents, namespace, clock } = dependencies;
  let done = 0;
  for await (const document of documents.allStale(subscriptionsOf(namespace, topic.id))) {
    if (done >= limit) return done;
    const { pk, sk, ...entity } = document;
    const id = String(entity['id']);
    // The tombstone first: a crash in between only writes it twice.
    const wasConsumed = entity['consumers'] === undefined ? {} : { wasConsumed: true };
    const child = { removedAt: clock.now(), entity, partitions, ...wasConsumed };
    await documents.put({ pk: tombstonesCollection(namespace), sk: id, ...child });
    const headers = Array.from({ length: partitions }, (_, partition) => headerKey(id, partition));
    await context.table.deleteMany(headers);
    await documents.delete({ pk: String(pk), sk: String(sk) });
    done++;
  }
  return done + (await clearRules(dependencies, topic.id));
}
