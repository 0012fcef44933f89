import type { Page } from '../../broker/ports/entities.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Document, DocumentTable } from '../dynamodb/document-table.ts';
import {
  splitSubscriptionKey,
  subscriptionsOf,
  TOP_LEVEL_PREFIX,
  topLevelKey,
} from '../schema/entity-keys.ts';
import { fromDocument } from './entity-document.ts';

/** How to read a collection of descriptions; `after` = the sort key after which to start. */
export type ReadDescriptions = (
  collection: string,
  prefix?: string,
  after?: string,
) => AsyncGenerator<Document>;

/**
 * All queues and topics of a namespace in order of their keys, each topic followed by its subscriptions. `after` = the
 * key after which to start, whether its entity exists or not. `read` = how; default: eventually consistent, at half the
 * price.
 */
export async function* listEntities(
  table: DocumentTable,
  namespace: string,
  after?: string,
  read: ReadDescriptions = (...from) => table.allStale(...from),
): AsyncGenerator<Entity> {
  if (after !== undefined) yield* restOfTopic(table, namespace, after, read);
  const top = after === undefined ? undefined : (splitSubscriptionKey(after)?.topic ?? after);
  const start = top === undefined ? undefined : topLevelKey(namespace, top).sk;
  for await (const document of read(namespace, TOP_LEVEL_PREFIX, start)) {
    const entity = fromDocument(document);
    yield entity;
    if (entity.description.kind !== 'topic') continue;
    yield* fromDocuments(read(subscriptionsOf(namespace, entity.id)));
  }
}

/**
 * A page of `top` entities, as `listEntities` orders them, strongly consistent, and whether more follow. Reads up to
 * `top` + 1 queues and topics, and for each topic of the page as many of its subscriptions, wherever the page begins.
 */
export async function pageOfEntities(
  table: DocumentTable,
  namespace: string,
  after: string | undefined,
  top: number,
): Promise<Page<Entity>> {
  const read: ReadDescriptions = (collection, prefix, from) =>
    table.all(collection, prefix, { after: from, pageSize: top + 1 });
  const items: Entity[] = [];
  for await (const entity of listEntities(table, namespace, after, read)) {
    if (items.length === top) return { items, more: true };
    items.push(entity);
  }
  return { items, more: false };
}

/** The subscriptions after `after`, if that is a topic or a subscription. */
async function* restOfTopic(
  table: DocumentTable,
  namespace: string,
  after: string,
  read: ReadDescriptions,
): AsyncGenerator<Entity> {
  const child = splitSubscriptionKey(after);
  const document = await table.get(topLevelKey(namespace, child?.topic ?? after));
  const topic = document && fromDocument(document);
  if (topic?.description.kind !== 'topic') return;
  yield* fromDocuments(read(subscriptionsOf(namespace, topic.id), undefined, child?.name));
}

async function* fromDocuments(documents: AsyncGenerator<Document>): AsyncGenerator<Entity> {
  for await (const document of documents) yield fromDocument(document);
}

/** The subscriptions of a topic in order, eventually consistent. */
export function listSubscriptions(
  table: DocumentTable,
  namespace: string,
  topicId: string,
): AsyncGenerator<Entity> {
  return fromDocuments(table.allStale(subscriptionsOf(namespace, topicId)));
}
