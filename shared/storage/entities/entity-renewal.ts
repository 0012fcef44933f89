import { entityNotFound } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { present } from '../../domain/present.ts';
import type { Rule } from '../../filters/rule.ts';
import { DynamoConsumerStates } from '../consumers/consumer-states.ts';
import type { DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import type { Table } from '../dynamodb/table.ts';
import type { DueWorkIndex } from '../maintenance/due-work-index.ts';
import { splitSubscriptionKey, subscriptionsOf, topLevelKey } from '../schema/entity-keys.ts';
import { changedMeanwhile } from './entity-changes.ts';
import { headerKeys, idleChecks, newEntity, newHeaders } from './entity-document.ts';
import { topicListPut, topicListRemoval } from './entity-lists.ts';
import { ANY_TIME, headerRemovalOf, tombstonePut } from './entity-removal.ts';
import type { DynamoEntityStore } from './entity-store.ts';
import type { DynamoRuleStore } from './rule-store.ts';

/** A queue or topic as it is to be, with all that belongs to it. */
export interface DeclaredEntity extends DeclaredPart {
  /** Of a topic; empty for a queue. */
  readonly subscriptions: readonly DeclaredSubscription[];
}

/** A subscription as it is to be. */
export interface DeclaredSubscription extends DeclaredPart {
  readonly rules: readonly Rule[];
}

/** What every kind of entity has. */
interface DeclaredPart {
  /** The lower-case path. */
  readonly key: string;
  /** The path in the spelling of its creation. */
  readonly name: string;
  readonly description: EntityDescription;
  readonly consumers?: Entity['consumers'];
}

/** The dependencies of `EntityRenewal`. */
export interface EntityRenewalDependencies {
  readonly documents: DocumentTable;
  readonly messages: Table;
  readonly namespace: string;
  readonly random: RandomSource;
  readonly entities: DynamoEntityStore;
  readonly rules: DynamoRuleStore;
  readonly dueWork: Pick<DueWorkIndex, 'putOf'>;
}

const ID_BYTES = 6;
/** Tries to renew an entity that others change at the same time. */
const TRIES_MAX = 10;

/**
 * Renews entities: puts a new one in the place of another of the same name, in one step. Whatever belongs to the
 * internal id ends with the old one: messages in all states, locks, session states, deduplication records, and the
 * sequence numbers. At every instant there is an entity of that name, so links and waiting receives go on.
 */
export class EntityRenewal {
  readonly #dependencies: EntityRenewalDependencies;

  constructor(dependencies: EntityRenewalDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Renews a queue or topic, or creates it if there is none. A send that runs at the same time ends in the old entity
   * or, since the headers of that one are gone, tries the new one. Throws ConflictInProgress if others keep changing
   * the entity.
   */
  async renew(declared: DeclaredEntity, now: number): Promise<void> {
    const { entities } = this.#dependencies;
    const renewed = this.#newEntity(declared, now, undefined, declared.subscriptions.length > 0);
    // Nobody finds them before the topic is there.
    for (const one of declared.subscriptions) await this.#createSubscription(one, renewed, now);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const current = await entities.read(declared.key);
      const replace = () => this.#replace(current, renewed, now);
      if (!(await entities.changes.everywhere(declared.key, replace))) continue;
      for (const { key } of [...declared.subscriptions, declared]) entities.forget(key);
      return;
    }
    throw changedMeanwhile(renewed);
  }

  #newEntity(
    { key, name, description, consumers }: DeclaredPart,
    now: number,
    topic: Entity | undefined,
    isSubscribed = false,
  ): Entity {
    const id = Buffer.from(this.#dependencies.random.bytes(ID_BYTES)).toString('base64url');
    const { neverSubscribed, ...own } = newEntity({ id, key, name, description, now, topic });
    const entity = { ...own, ...present({ consumers }) };
    return isSubscribed || neverSubscribed === undefined ? entity : { ...entity, neverSubscribed };
  }

  async #createSubscription(declared: DeclaredSubscription, topic: Entity, now: number) {
    const { documents, messages, namespace, dueWork, rules } = this.#dependencies;
    const subscription = this.#newEntity(declared, now, topic);
    const name = splitSubscriptionKey(declared.key)?.name;
    if (name === undefined) throw entityNotFound(declared.name);
    const at = { pk: subscriptionsOf(namespace, topic.id), sk: name };
    await documents.transact([
      { Put: { TableName: documents.name, Item: { ...at, ...subscription } } },
      ...newHeaders(messages.name, subscription),
      ...idleChecks(dueWork, subscription),
      ...this.#statesOf(subscription),
    ]);
    for (const rule of declared.rules) await rules.put(subscription, rule);
  }

  /** False = the entity was changed since it was read. */
  async #replace(current: Entity | undefined, renewed: Entity, now: number): Promise<boolean> {
    const { documents, messages, namespace, entities, dueWork } = this.#dependencies;
    const writes = [
      putInPlace(documents.name, namespace, current, renewed),
      ...(current === undefined ? [] : this.#removalOf(current, now)),
      ...newHeaders(messages.name, renewed),
      ...topicListPut(documents.name, namespace, renewed),
      ...(current !== undefined && renewed.description.kind !== 'topic'
        ? topicListRemoval(documents.name, namespace, current)
        : []),
      ...idleChecks(dueWork, renewed),
      ...this.#statesOf(renewed),
    ];
    const isThere = async () => (await entities.read(renewed.key))?.id === renewed.id;
    return await entities.changes.commit(writes, isThere);
  }

  /** The writes that create the states of the consumers of a new entity. */
  #statesOf({ id, key, consumers = {} }: Entity): readonly DocumentWrite[] {
    const { documents, namespace } = this.#dependencies;
    const states = new DynamoConsumerStates(documents, namespace);
    return Object.keys(consumers).map((consumer) =>
      states.putOf({ entityId: id, entityKey: key, consumer }),
    );
  }

  /** The writes that end the old entity; its document is replaced. */
  #removalOf(entity: Entity, now: number): readonly DocumentWrite[] {
    const { documents, messages, namespace } = this.#dependencies;
    const headers = headerKeys(entity);
    const tombstone = { name: entity.id, removedAt: now, entity, partitions: headers.length };
    return [
      ...headers.map((key) => headerRemovalOf(messages.name, key, ANY_TIME)),
      tombstonePut(documents.name, namespace, tombstone),
    ];
  }
}

/** The write that puts the new entity in the place of the one that was read. */
function putInPlace(
  table: string,
  namespace: string,
  current: Entity | undefined,
  renewed: Entity,
): DocumentWrite {
  const put = {
    TableName: table,
    Item: { ...topLevelKey(namespace, renewed.key), ...renewed },
  };
  if (current === undefined) {
    return { Put: { ...put, ConditionExpression: 'attribute_not_exists(pk)' } };
  }
  return {
    Put: {
      ...put,
      ConditionExpression: '#id = :id AND generations = :generations',
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: { ':id': current.id, ':generations': current.generations },
    },
  };
}
