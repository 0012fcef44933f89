import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import {
  splitSubscriptionKey,
  subscriptionsOf,
  TOP_LEVEL_PREFIX,
  topLevelKey,
} from '../schema/entity-keys.ts';
import { fromDocument } from './entity-document.ts';

/**
 * All queues and topics of a namespace in order of their keys, each topic followed by its subscriptions; eventually
 * consistent, at half the price. `after` = the key after which to start, whether its entity exists or not.
 */
export async function* listEntities(
  table: DocumentTable,
  namespace: string,
  after?: string,
): AsyncGenerator<Entity> {
  if (after !== undefined) yield* restOfTopic(table, namespace, after);
  const top = after === undefined ? undefined : (splitSubscriptionKey(after)?.topic ?? after);
  const start = top === undefined ? undefined : topLevelKey(namespace, top).sk;
  for await (const document of table.allStale(namespace, TOP_LEVEL_PREFIX, start)) {
    const entity = fromDocument(document);
    yield entity;
    if (entity.description.kind === 'topic') yield* listSubscriptions(table, namespace, entity.id);
  }
}

/** The subscriptions after `after`, if that is a topic or a subscription. */
async function* restOfTopic(
  table: DocumentTable,
  namespace: string,
  after: string,
): AsyncGenerator<Entity> {
  const child = splitSubscriptionKey(after);
  const document = await table.get(topLevelKey(namespace, child?.topic ?? after));
  const topic = document && fromDocument(document);
  if (topic?.description.kind !== 'topic') return;
  yield* listSubscriptions(table, namespace, topic.id, child?.name);
}

/** The subscriptions of a topic in order, eventually consistent; `after` = the name after which to start. */
export async function* listSubscriptions(
  table: DocumentTable,
  namespace: string,
  topicId: string,
  after?: string,
): AsyncGenerator<Entity> {
  for await (const document of table.allStale(
    subscriptionsOf(namespace, topicId),
    undefined,
    after,
  )) {
    yield fromDocument(document);
  }
}
