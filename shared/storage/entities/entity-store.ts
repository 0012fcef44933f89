import type { EntityStore, ListPage, Page } from '../../broker/ports/entities.ts';
import type { AgeClock } from '../../domain/age.ts';
import { alreadyExists, type BrokerError, entityNotFound } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import type { LeaseCache, Leased } from '../hints/lease-cache.ts';
import type { DueWorkIndex } from '../maintenance/due-work-index.ts';
import { splitSubscriptionKey, subscriptionsOf, topLevelKey } from '../schema/entity-keys.ts';
import type { DocumentPlace } from './consumer-writes.ts';
import { changedMeanwhile, EntityChanges } from './entity-changes.ts';
import {
  fromDocument,
  headerKeys,
  idleChecks,
  isReplaced,
  newEntity,
  newHeaders,
  replacementOf,
  topicCheck,
} from './entity-document.ts';
import { EntityLists, topicListPut, topicListRemoval } from './entity-lists.ts';
import {
  ANY_TIME,
  headerRemovalOf,
  type RemovalCondition,
  removalOf,
  tombstonePut,
} from './entity-removal.ts';
import { listEntities, listSubscriptions, pageOfEntities } from './list-entities.ts';

/** The dependencies of `DynamoEntityStore`. */
export interface EntityStoreDependencies {
  readonly table: DocumentTable;
  /** Name of the messages table, which has the partition headers of entities. */
  readonly messagesTable: string;
  readonly namespace: string;
  readonly random: RandomSource;
  readonly ages: AgeClock;
  readonly cache: LeaseCache<Entity>;
  /** Gets the checks whether an entity is idle. */
  readonly dueWork: Pick<DueWorkIndex, 'putOf'>;
  /** Drops from other caches what depends on a queue or topic, by its key. */
  readonly forgetOthers: (key: string) => void;
  /** Resolves once the lease of everything that any process has read by now has ended. */
  readonly leasesEnded: () => Promise<void>;
}

const ID_BYTES = 6;
/** Tries to remove an entity that other processes purge at the same time. */
const REMOVE_TRIES_MAX = 10;

/** Entities in DynamoDB. */
export class DynamoEntityStore implements EntityStore {
  /** Makes changes of entities and of rules. */
  readonly changes: EntityChanges;
  readonly #dependencies: EntityStoreDependencies;
  readonly #lists: EntityLists;

  constructor(dependencies: EntityStoreDependencies) {
    this.#dependencies = dependencies;
    this.changes = new EntityChanges({ ...dependencies, forget: (key) => this.forget(key) });
    const { table, namespace, ages } = dependencies;
    this.#lists = new EntityLists(table, namespace, ages);
  }

  async find(key: string): Promise<Entity | undefined> {
    return (await this.#lease(key)).value;
  }

  /** The entity with its lease; a subscription is found through its topic, so its lease begins with the topic's. */
  async #lease(key: string): Promise<Leased<Entity>> {
    const { namespace, cache } = this.#dependencies;
    const child = splitSubscriptionKey(key);
    if (child === undefined) {
      return await cache.lease(key, () => this.#readAt(topLevelKey(namespace, key)));
    }
    const { value: topic, since } = await this.#lease(child.topic);
    if (topic?.description.kind !== 'topic') return { value: undefined, since };
    const location = { pk: subscriptionsOf(namespace, topic.id), sk: child.name };
    return await cache.lease(key, () => this.#readAt(location), since);
  }

  async read(key: string): Promise<Entity | undefined> {
    const location = await this.#locate(key);
    return location && (await this.#readAt(location.key));
  }

  async #readAt(key: ItemKey): Promise<Entity | undefined> {
    const document = await this.#dependencies.table.get(key);
    return document && fromDocument(document);
  }

  /** Where an entity's document is; undefined if its topic does not exist. */
  async placeOf(key: string): Promise<DocumentPlace | undefined> {
    const location = await this.#locate(key);
    return location && { TableName: this.#dependencies.table.name, Key: location.key };
  }

  /** The key of an entity's document; undefined if its topic does not exist. */
  async #locate(
    key: string,
    findTopic: (key: string) => Promise<Entity | undefined> = (topic) => this.read(topic),
  ): Promise<{ readonly key: ItemKey; readonly topic?: Entity } | undefined> {
    const { namespace } = this.#dependencies;
    const child = splitSubscriptionKey(key);
    if (child === undefined) return { key: topLevelKey(namespace, key) };
    const topic = await findTopic(child.topic);
    if (topic?.description.kind !== 'topic') return undefined;
    return { key: { pk: subscriptionsOf(namespace, topic.id), sk: child.name }, topic };
  }

  /** Creates an entity; `more` = writes in the same transaction. */
  async create(
    key: string,
    name: string,
    description: EntityDescription,
    now: number,
    more: (entity: Entity) => readonly DocumentWrite[] = () => [],
  ): Promise<Entity> {
    const { table, messagesTable, namespace, random, dueWork } = this.#dependencies;
    const location = await this.#locate(key);
    if (location === undefined) throw entityNotFound(splitSubscriptionKey(key)?.topic ?? key);
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('base64url');
    const entity = newEntity({ id, key, name, description, now, topic: location.topic });
    const writes = [
      {
        Put: {
          TableName: table.name,
          Item: { ...location.key, ...entity },
          ConditionExpression: 'attribute_not_exists(pk)',
        },
      },
      ...newHeaders(messagesTable, entity),
      ...topicListPut(table.name, namespace, entity),
      ...idleChecks(dueWork, entity),
      ...more(entity),
    ];
    const isThere = async () => (await this.read(key))?.id === id;
    const write = (also: readonly DocumentWrite[]) =>
      this.changes.commit([...writes, ...also], isThere);
    const isCreated =
      location.topic === undefined
        ? await this.changes.here(key, () => write([]))
        : await this.#subscribe(key, location.topic, write);
    if (!isCreated) throw await this.#whyNotCreated(key);
    return entity;
  }

  /** Creates a subscription so that all senders know of it. False = it exists, or its topic does not. */
  async #subscribe(
    key: string,
    topic: Entity,
    write: (also: readonly DocumentWrite[]) => Promise<boolean>,
  ): Promise<boolean> {
    const { table, namespace } = this.#dependencies;
    const at = { TableName: table.name, Key: topLevelKey(namespace, topic.key) };
    const create = (which: 'first' | 'any') => () => write([topicCheck(at, topic, which)]);
    // No process remembers the subscriptions of a topic that never had one, so no lease has to end.
    const isFirst = topic.neverSubscribed && (await this.changes.here(topic.key, create('first')));
    return isFirst || (await this.changes.everywhere(key, create('any')));
  }

  async #whyNotCreated(key: string): Promise<BrokerError> {
    const child = splitSubscriptionKey(key);
    if (child !== undefined && (await this.read(child.topic)) === undefined) {
      return entityNotFound(child.topic);
    }
    return alreadyExists(key);
  }

  async update(entity: Entity, description: EntityDescription, now: number): Promise<Entity> {
    // The next epoch ends all locks, whatever the update changes (semantics N12, N20).
    const changed = { ...entity, description, epoch: entity.epoch + 1, updatedAt: now };
    return await this.#replace(entity, changed, idleChecks(this.#dependencies.dueWork, changed));
  }

  async purge(entity: Entity, subQueue: SubQueue, now: number): Promise<Entity> {
    const generation = entity.generations[subQueue];
    const generations = { ...entity.generations, [subQueue]: generation + 1 };
    // A purge is a use.
    const changed: Entity = { ...entity, generations, accessedAt: now };
    const name = `${entity.id}.${subQueue}.${generation}`;
    const { table, namespace } = this.#dependencies;
    const more = { removedAt: now, entity, partitions: partitionsOf(entity), subQueue, generation };
    const tombstone = tombstonePut(table.name, namespace, { name, ...more });
    return await this.#replace(entity, changed, [tombstone]);
  }

  async #replace(entity: Entity, change: Entity, more: readonly DocumentWrite[]): Promise<Entity> {
    // Another process may create the first subscription meanwhile.
    const { neverSubscribed: _, ...changed } = change;
    const { table } = this.#dependencies;
    const location = await this.#locate(entity.key);
    if (location === undefined) throw entityNotFound(entity.name);
    const writes = [replacementOf(table.name, location.key, entity, changed), ...more];
    const isThere = async () => isReplaced(await this.read(entity.key), changed);
    if (!(await this.changes.everywhere(entity.key, () => this.changes.commit(writes, isThere)))) {
      throw await this.#whyNotReplaced(entity);
    }
    return changed;
  }

  async #whyNotReplaced(entity: Entity): Promise<BrokerError> {
    const current = await this.read(entity.key);
    if (current?.id !== entity.id) return entityNotFound(entity.name);
    return changedMeanwhile(entity);
  }

  async remove(key: string, now: number, requireMatch?: (entity: Entity) => void): Promise<void> {
    const entity = await this.read(key);
    if (entity === undefined) throw entityNotFound(key);
    const condition = { idleSince: ANY_TIME, isThisVersion: requireMatch !== undefined };
    let current: Entity | undefined = entity;
    for (let tries = 0; current?.id === entity.id && tries < REMOVE_TRIES_MAX; tries++) {
      const seen = current;
      requireMatch?.(seen);
      if (await this.changes.everywhere(key, () => this.#remove(seen, now, condition))) return;
      // The entity was purged meanwhile, so there are more messages to delete than were read; or it was updated.
      current = await this.read(key);
    }
    // Another entity of this name is another version.
    if (current !== undefined) requireMatch?.(current);
    throw current?.id === entity.id ? changedMeanwhile(entity) : entityNotFound(entity.name);
  }

  /**
   * Removes an entity unless it was used after `idleSince` (epoch ms), or updated since it was read, which the same
   * write checks. False = it was used or updated, or is gone already.
   */
  async removeIfIdle(entity: Entity, now: number, idleSince: number): Promise<boolean> {
    const condition = { idleSince, isThisVersion: true };
    return await this.changes.here(entity.key, () => this.#remove(entity, now, condition));
  }

  async #remove(entity: Entity, now: number, condition: RemovalCondition): Promise<boolean> {
    const { table, messagesTable, namespace } = this.#dependencies;
    const location = await this.#locate(entity.key);
    if (location === undefined) return false;
    const headers = headerKeys(entity);
    const writes = [
      removalOf(table.name, location.key, entity, condition),
      ...headers.map((header) => headerRemovalOf(messagesTable, header, condition.idleSince)),
      ...topicListRemoval(table.name, namespace, entity),
      tombstonePut(table.name, namespace, {
        name: entity.id,
        removedAt: now,
        entity,
        partitions: headers.length,
      }),
    ];
    const isGone = async () => (await this.read(entity.key))?.id !== entity.id;
    return await this.changes.commit(writes, isGone);
  }

  /** Stores a use, unless a later one is stored or the entity is gone. One write unit. */
  async touch(entity: Entity, now: number): Promise<void> {
    const location = await this.#locate(entity.key, (topic) => this.find(topic));
    if (location === undefined) return;
    await this.#dependencies.table.update(location.key, {
      UpdateExpression: 'SET accessedAt = :now',
      // A process that was frozen writes late.
      ConditionExpression: '#id = :id AND (attribute_not_exists(accessedAt) OR accessedAt < :now)',
      ExpressionAttributeNames: { '#id': 'id' },
      ExpressionAttributeValues: { ':id': entity.id, ':now': now },
    });
  }

  /** All entities after a key, eventually consistent, for the sweep. See `listEntities`. */
  everything(after?: string): AsyncGenerator<Entity> {
    const { table, namespace } = this.#dependencies;
    return listEntities(table, namespace, after);
  }

  /** The subscriptions of a topic, eventually consistent. */
  subscriptionsOf(topic: Entity): AsyncGenerator<Entity> {
    const { table, namespace } = this.#dependencies;
    return listSubscriptions(table, namespace, topic.id);
  }

  async list(page: ListPage): Promise<Page<Entity>> {
    if (page.kind !== 'subscription') return await this.#lists.ofKind(page);
    const topic = await this.read(page.topic);
    if (topic?.description.kind !== 'topic') throw entityNotFound(page.topic);
    return await this.#lists.subscriptions(topic.id, page);
  }

  async page(after: string | undefined, top: number): Promise<Page<Entity>> {
    const { table, namespace } = this.#dependencies;
    return await pageOfEntities(table, namespace, after, top);
  }

  forget(key: string): void {
    this.#dependencies.cache.forget(key);
    this.#dependencies.forgetOthers(splitSubscriptionKey(key)?.topic ?? key);
  }
}
