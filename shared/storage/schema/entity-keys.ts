import type { ItemKey } from '../dynamodb/table.ts';

/**
 * Keys of the entities table.
 *
 *     <namespace>                 e/<path>                       queues and topics
 *     <namespace>/topics          <path>                         topics, by key only
 *     <namespace>/s/<topic id>    <subscription>                 subscriptions of a topic
 *     <namespace>/r/<topic id>    <subscription id>/<rule>       rules of all its subscriptions
 *     <namespace>/c/<entity id>   <sub-queue>/<consumer>         states of the consumers of an entity
 *     <namespace>/counts          namespace or <topic id>        numbers for quotas
 *     <namespace>/graves          <id>                           tombstones of entities: messages to delete
 *                                 <id>.<sub-queue>.<generation>  tombstones of purged sub-queues
 *     <namespace>/agenda          <time>/<log> or <time>+/<log>  due-work index: the sweep's work
 *     <namespace>/orphans         <id>.<partition>               payloads that looked unused
 *     <namespace>/declarations    <path>                         which resource of which stack declared an entity
 *                                 <path>/$authorizationrules/<name>  … or an authorization rule
 *     <namespace>/sweep           state                          lease of the sweep, progress of its walks
 *
 * `<time>` is epoch ms in 15 decimal digits, `+` = postponed; `<log>` is `<id>.<partition>.<generation>`, `/<session>/`
 * may follow. What belongs to a topic lies under its internal id, so that a later topic of the same name never finds
 * it. Tables with data have the keys `graves` and `agenda`, so these earlier words stay.
 */

const SUBSCRIPTION = /^(.+)\/subscriptions\/([^/]+)$/;

/** Takes the key of a subscription apart; nothing where it is the key of a queue or topic. */
export function splitSubscriptionKey(
  key: string,
): { readonly topic: string; readonly name: string } | undefined {
  const match = SUBSCRIPTION.exec(key);
  const [, topic, name] = match ?? [];
  return topic === undefined || name === undefined ? undefined : { topic, name };
}

export const TOP_LEVEL_PREFIX = 'e/';

/** A queue or a topic; they share one name space. */
export function topLevelKey(namespace: string, key: string): ItemKey {
  return { pk: namespace, sk: `${TOP_LEVEL_PREFIX}${key}` };
}

/** The list of topics, which has their keys. */
export function topicListOf(namespace: string): string {
  return `${namespace}/topics`;
}

/** Puts a topic into the list of topics. */
export function topicListEntry(namespace: string, key: string): ItemKey {
  return { pk: topicListOf(namespace), sk: key };
}

/** A sort key in the list of topics, which no topic can have. It says that the list has all topics. */
export const ALL_TOPICS_LISTED = '!';

/** The collection of a topic's subscriptions. */
export function subscriptionsOf(namespace: string, topicId: string): string {
  return `${namespace}/s/${topicId}`;
}

/** The collection of the rules of all subscriptions of a topic. */
export function rulesOf(namespace: string, topicId: string): string {
  return `${namespace}/r/${topicId}`;
}

/** The collection of the states of an entity's consumers. */
export function consumerStatesOf(namespace: string, entityId: string): string {
  return `${namespace}/c/${entityId}`;
}

/** The numbers for the quotas of a topic or, without one, of the namespace. An id has no more than 8 characters. */
export function quotaCountsKey(namespace: string, topicId = 'namespace'): ItemKey {
  return { pk: `${namespace}/counts`, sk: topicId };
}

/** The collection of what the sweep has to do, by time. */
export function dueWorkCollection(namespace: string): string {
  return `${namespace}/agenda`;
}

/** The collection of payload items that looked unused at the last look. */
export function orphansOf(namespace: string): string {
  return `${namespace}/orphans`;
}

/** Who declared an entity or an authorization rule. */
export function declarationKey(namespace: string, key: string): ItemKey {
  return { pk: `${namespace}/declarations`, sk: key };
}

/** The lease of the sweep, and how far its walks over the entities have come. */
export function sweepStateKey(namespace: string): ItemKey {
  return { pk: `${namespace}/sweep`, sk: 'state' };
}

/** The collection of what was removed and is still to be cleared. */
export function tombstonesCollection(namespace: string): string {
  return `${namespace}/graves`;
}
