import type { Subscribed, SubscriptionCatalog } from '../../broker/ports/entities.ts';
import { type Entity, isOfKind } from '../../domain/entities/entity.ts';
import { addTo } from '../../domain/group-by.ts';
import type { Rule } from '../../filters/rule.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import type { LeaseCache } from '../hints/lease-cache.ts';
import { rulesOf, subscriptionsOf } from '../schema/entity-keys.ts';
import { fromDocument } from './entity-document.ts';
import { ruleOf } from './rule-store.ts';

/** The subscriptions of one topic, by its id, since another topic may have had its name before. */
export interface SubscribedTo {
  readonly topicId: string;
  readonly subscribed: readonly Subscribed[];
}

/** Reads the subscriptions of a topic and all their rules: two queries, now and then. */
export class DynamoSubscriptionCatalog implements SubscriptionCatalog {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  readonly #cache: LeaseCache<SubscribedTo>;

  constructor(table: DocumentTable, namespace: string, cache: LeaseCache<SubscribedTo>) {
    this.#table = table;
    this.#namespace = namespace;
    this.#cache = cache;
  }

  async of(topic: Entity): Promise<readonly Subscribed[]> {
    // Its first subscription is created without waiting until all leases have ended.
    if (topic.neverSubscribed) return await this.#read(topic);
    const read = async () => ({ topicId: topic.id, subscribed: await this.#read(topic) });
    const known = await this.#cache.get(topic.key, read);
    if (known?.topicId === topic.id) return known.subscribed;
    this.#cache.forget(topic.key);
    return (await this.#cache.get(topic.key, read))?.subscribed ?? [];
  }

  async #read(topic: Entity): Promise<readonly Subscribed[]> {
    const [subscriptions, rules] = await Promise.all([
      this.#subscriptions(topic),
      this.#rulesBySubscription(topic),
    ]);
    return subscriptions.map((entity) => ({ entity, rules: rules.get(entity.id) ?? [] }));
  }

  async #subscriptions(topic: Entity) {
    const found: Subscribed['entity'][] = [];
    for await (const document of this.#table.all(subscriptionsOf(this.#namespace, topic.id))) {
      const entity = fromDocument(document);
      if (isOfKind(entity, 'subscription')) found.push(entity);
    }
    return found;
  }

  async #rulesBySubscription(topic: Entity): Promise<ReadonlyMap<string, readonly Rule[]>> {
    const found = new Map<string, Rule[]>();
    for await (const document of this.#table.all(rulesOf(this.#namespace, topic.id))) {
      const [id = ''] = String(document['sk']).split('/');
      addTo(found, id, ruleOf(document).rule);
    }
    // Copies are made in the order in which the rules were.
    for (const rules of found.values()) rules.sort((a, b) => a.createdAt - b.createdAt);
    return found;
  }
}
