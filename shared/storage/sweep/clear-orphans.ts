import { type Entity, partitionsOf } from '../../domain/entity.ts';
import type { SubQueue } from '../../domain/entity-path.ts';
import { logOf } from '../../domain/log.ts';
import type { Item, ItemKey } from '../dynamo.ts';
import { orphansOf } from '../entity-keys.ts';
import { logKey, payloadCollection, sessionsCollection } from '../keys.ts';
import type { SweepParts } from './sweep.ts';

const SUB_QUEUES = ['main', 'deadLetter', 'transferDeadLetter'] as const satisfies SubQueue[];
const MINUTE = 60_000;
/** What is younger may belong to a send that is still under way. */
const MIN_AGE_MS = 60 * MINUTE;
/** One look takes at most this many payload items; the rest has its turn another day. */
const ITEMS_MAX = 2000;

/**
 * Deletes payload items that no block names: what a crash between two writes leaves behind. An item
 * is deleted only if two looks, a day apart, found no block that names it, since a message may be on
 * its way from one store to another during a look.
 */
export async function clearOrphans(parts: SweepParts, entity: Entity): Promise<void> {
  for (let partition = 0; partition < partitionsOf(entity); partition++) {
    await clearPartition(parts, entity, partition);
  }
}

async function clearPartition(parts: SweepParts, entity: Entity, partition: number): Promise<void> {
  const { context, documents, namespace } = parts;
  const candidates = await oldPayloads(parts, entity, partition);
  if (candidates.length === 0) return;
  const named = await namedPayloads(parts, entity, partition);
  const orphans = candidates.filter(({ sk }) => !named.has(nameOf(sk)));
  const key = { pk: orphansOf(namespace), sk: `${entity.id}.${partition}` };
  const before = await documents.get(key);
  const suspects = new Set(Array.isArray(before?.['keys']) ? before['keys'].map(String) : []);
  for (const orphan of orphans) {
    if (suspects.has(orphan.sk)) await context.table.delete(orphan);
  }
  const suspected = orphans.map(({ sk }) => sk).filter((sk) => !suspects.has(sk));
  if (suspected.length > 0) await documents.put({ ...key, keys: suspected });
  else if (before !== undefined) await documents.delete(key);
}

async function oldPayloads(
  { context }: SweepParts,
  entity: Entity,
  partition: number,
): Promise<readonly ItemKey[]> {
  const collection = payloadCollection(logOf(entity, 'main', partition));
  const oldest = context.clock.now() - MIN_AGE_MS;
  const found: ItemKey[] = [];
  for await (const item of itemsOf(context, collection, 'sk, q')) {
    const sk = item['sk']?.S ?? '';
    if (Number(item['q']?.N) <= oldest) found.push({ pk: collection, sk });
    if (found.length >= ITEMS_MAX) break;
  }
  return found;
}

async function namedPayloads(
  { context, store }: SweepParts,
  entity: Entity,
  partition: number,
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for await (const holder of holdersOf(store, entity)) {
    const logs = SUB_QUEUES.map((subQueue) => logOf(holder, subQueue, partition));
    const states = logs.slice(0, 1).map(sessionsCollection);
    for (const collection of [...logs.map(logKey), ...states]) {
      for await (const item of itemsOf(context, collection, 'p')) {
        const reference = item['p']?.S;
        if (reference !== undefined) named.add(reference);
      }
    }
  }
  return named;
}

/** The entities whose blocks may name payloads of this one: of a topic all its subscriptions too. */
async function* holdersOf(store: SweepParts['store'], entity: Entity): AsyncGenerator<Entity> {
  yield entity;
  if (entity.description.kind === 'topic') yield* store.subscriptionsOf(entity);
}

async function* itemsOf(
  context: SweepParts['context'],
  collection: string,
  projection: string,
): AsyncGenerator<Item> {
  let start: Item | undefined;
  do {
    const page = await context.table.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: collection } },
      ProjectionExpression: projection,
      ...(start === undefined ? {} : { ExclusiveStartKey: start }),
    });
    yield* page.items;
    start = page.lastKey;
  } while (start !== undefined);
}

/** The name of a payload, of which the items are numbered. */
function nameOf(sortKey: string): string {
  return sortKey.slice(0, sortKey.lastIndexOf('.'));
}
