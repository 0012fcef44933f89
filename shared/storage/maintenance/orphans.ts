import { logOf } from '../../domain/blocks/log.ts';
import { type Entity, partitionNumbers } from '../../domain/entities/entity.ts';
import { SUB_QUEUES } from '../../domain/entities/entity-path.ts';
import { HOUR_MS } from '../../domain/units.ts';
import type { Document } from '../dynamodb/document-table.ts';
import { type Item, type ItemKey, keyItem } from '../dynamodb/table.ts';
import { orphansOf } from '../schema/entity-keys.ts';
import { logKey, payloadCollection, sessionsCollection } from '../schema/message-keys.ts';
import type { SweepDependencies } from './sweep-run.ts';

/** A younger payload may belong to a send that is still under way. */
const MIN_AGE_MS = HOUR_MS;
/** The shortest time between two looks that both find a payload unused. */
const LOOKS_APART_MS = HOUR_MS;
/** One look covers at most this many payload items of a partition; the next look starts after them. */
const ITEMS_MAX = 2000;

/** What one look at a partition stores for the next. */
interface Looks {
  /** Epoch ms of the last look; absent where an earlier version wrote this. */
  readonly at?: number;
  /** Payload items that the last look found unused, by sort key. */
  readonly keys: readonly string[];
  /** The sort key of the last item that it covered; absent = it reached the end. */
  readonly after?: string;
}

/**
 * Deletes orphans: payload items that no block refers to, because a process crashed between two writes. A look covers
 * the next 2,000 payload items of each partition, and starts again after the last. An old item without a block is
 * deleted only if the next look, a day later, finds no block either, since a message may move from one section to
 * another during a look.
 */
export async function clearOrphans(dependencies: SweepDependencies, entity: Entity): Promise<void> {
  for (const partition of partitionNumbers(entity)) {
    await clearPartition(dependencies, entity, partition);
  }
}

async function clearPartition(
  dependencies: SweepDependencies,
  entity: Entity,
  partition: number,
): Promise<void> {
  const { context, documents, namespace, clock } = dependencies;
  const collection = payloadCollection(logOf(entity, 'main', partition));
  const key = { pk: orphansOf(namespace), sk: `${entity.id}.${partition}` };
  const stored = await documents.get(key);
  const before = stored === undefined ? { keys: [] } : fromDocument(stored);
  const next = await nextItems(dependencies, collection, before.after);
  if (next.old.length === 0 && stored === undefined && next.after === undefined) return;
  const unnamed = new Set([...before.keys, ...next.old].map(nameOf));
  await excludeReferenced(dependencies, entity, partition, unnamed);
  const isUnnamed = (sk: string) => unnamed.has(nameOf(sk));

  const now = clock.now();
  const isLaterLook = before.at === undefined || now - before.at >= LOOKS_APART_MS;
  const again = before.keys.filter(isUnnamed);
  if (isLaterLook) {
    for (const sk of again) await context.table.delete({ pk: collection, sk });
  }
  const suspects = new Set([...(isLaterLook ? [] : again), ...next.old.filter(isUnnamed)]);
  if (isLaterLook) for (const sk of again) suspects.delete(sk);
  const keys = [...suspects];
  if (keys.length === 0 && next.after === undefined) {
    if (stored !== undefined) await documents.delete(key);
    return;
  }
  const looks: Looks = { at: now, keys, ...(next.after !== undefined && { after: next.after }) };
  await documents.put({ ...key, ...looks });
}

function fromDocument({ at, keys, after }: Document): Looks {
  return {
    ...(at === undefined ? {} : { at: Number(at) }),
    keys: Array.isArray(keys) ? keys.map(String) : [],
    ...(after === undefined ? {} : { after: String(after) }),
  };
}

/** The old ones of the next payload items, and the item after which the next look starts. */
async function nextItems(
  { context }: SweepDependencies,
  collection: string,
  after: string | undefined,
): Promise<{ readonly old: readonly string[]; readonly after: string | undefined }> {
  const oldest = context.clock.now() - MIN_AGE_MS;
  const old: string[] = [];
  let count = 0;
  const start = after === undefined ? undefined : { pk: collection, sk: after };
  for await (const item of itemsOf(context, collection, 'sk, q', start)) {
    const sk = item['sk']?.S ?? '';
    if (Number(item['q']?.N) <= oldest) old.push(sk);
    if (++count >= ITEMS_MAX) return { old, after: sk };
  }
  return { old, after: undefined };
}

/** Removes from `names` the payloads that a block or the state of a session refers to. */
async function excludeReferenced(
  { context, entities }: SweepDependencies,
  entity: Entity,
  partition: number,
  names: Set<string>,
): Promise<void> {
  for await (const holder of holdersOf(entities, entity)) {
    const logs = SUB_QUEUES.map((subQueue) => logOf(holder, subQueue, partition));
    const states = logs.slice(0, 1).map(sessionsCollection);
    for (const collection of [...logs.map(logKey), ...states]) {
      if (names.size === 0) return;
      for await (const item of itemsOf(context, collection, 'p')) {
        const reference = item['p']?.S;
        if (reference !== undefined) names.delete(reference);
      }
    }
  }
}

/** The entities whose blocks may refer to payloads of this one: with a topic, all its subscriptions. */
async function* holdersOf(
  entities: SweepDependencies['entities'],
  entity: Entity,
): AsyncGenerator<Entity> {
  yield entity;
  if (entity.description.kind === 'topic') yield* entities.subscriptionsOf(entity);
}

function itemsOf(
  { table }: SweepDependencies['context'],
  collection: string,
  projection: string,
  after?: ItemKey,
): AsyncGenerator<Item> {
  return table.all({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: collection } },
    ProjectionExpression: projection,
    ExclusiveStartKey: after && keyItem(after),
  });
}

/** The name of a payload; its items have the same name and a number. */
function nameOf(sortKey: string): string {
  return sortKey.slice(0, sortKey.lastIndexOf('.'));
}
