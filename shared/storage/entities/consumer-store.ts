import type { ConsumerStore, StoredConsumer } from '../../broker/ports/consumers.ts';
import { BrokerError, entityNotFound } from '../../domain/broker-error.ts';
import { CONSUMER_LIMITS, type Consumer } from '../../domain/consumers/consumer.ts';
import { type ConsumerName, consumerKey } from '../../domain/consumers/consumer-key.ts';
import { consumerNotFound } from '../../domain/consumers/consumer-refusals.ts';
import { consumersOf, type Entity } from '../../domain/entities/entity.ts';
import type { ConsumerReference } from '../../push/ports.ts';
import type { DynamoConsumerStates } from '../consumers/consumer-states.ts';
import type { DocumentWrite } from '../dynamodb/document-table.ts';
import {
  consumerPut,
  consumerRemoval,
  type DocumentPlace,
  firstConsumerPut,
} from './consumer-writes.ts';
import { isSame } from './entity-changes.ts';
import type { DynamoEntityStore } from './entity-store.ts';

/** Tries to change a consumer whose entity or consumers others change at the same time. */
const TRIES_MAX = 10;

/** Consumers in DynamoDB: members of a map in the document of their entity. A change writes the whole document. */
export class DynamoConsumerStore implements ConsumerStore {
  readonly #entities: DynamoEntityStore;
  /** The states of consumers come and go with them. */
  readonly #states: DynamoConsumerStates;

  constructor(entities: DynamoEntityStore, states: DynamoConsumerStates) {
    this.#entities = entities;
    this.#states = states;
  }

  async put(entityKey: string, decide: (entity: Entity) => Consumer): Promise<StoredConsumer> {
    return await this.#changing(entityKey, async (entity) => {
      const consumer = decide(entity);
      const key = consumerKey(consumer);
      const before = consumersOf(entity)[key];
      if (before === undefined) requireRoom(entity);
      const isThere = (stored: Entity | undefined) =>
        stored?.id === entity.id && isSame(consumersOf(stored)[key], consumer);
      const write = entity.consumers === undefined ? firstConsumerPut : consumerPut;
      const isPut = await this.#write(
        entity,
        (place) => [
          write(place, entity, { key, consumer, before }),
          this.#states.putOf(referenceTo(entity, key)),
        ],
        isThere,
      );
      if (!isPut) return undefined;
      const consumers = { ...entity.consumers, [key]: consumer };
      return { entity: { ...entity, consumers }, consumer, isNew: before === undefined };
    });
  }

  async remove(
    entityKey: string,
    name: ConsumerName,
    requireMatch: (found: Consumer) => void,
  ): Promise<Entity> {
    const key = consumerKey(name);
    return await this.#changing(entityKey, async (entity) => {
      const { [key]: before, ...consumers } = consumersOf(entity);
      if (before === undefined) throw consumerNotFound(entity, name);
      requireMatch(before);
      const isGone = (stored: Entity | undefined) =>
        stored === undefined || consumersOf(stored)[key]?.id !== before.id;
      const isRemoved = await this.#write(
        entity,
        (place) => [
          consumerRemoval(place, entity, { key, before }),
          this.#states.removalOf(referenceTo(entity, key)),
        ],
        isGone,
      );
      return isRemoved ? { ...entity, consumers } : undefined;
    });
  }

  /** Reads the entity and changes it, again if the condition of the change failed. */
  async #changing<Changed>(
    entityKey: string,
    change: (entity: Entity) => Promise<Changed | undefined>,
  ): Promise<Changed> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const entity = await this.#entities.read(entityKey);
      if (entity === undefined) throw entityNotFound(entityKey);
      const changed = await change(entity);
      if (changed !== undefined) return changed;
    }
    throw new BrokerError(
      'ConflictInProgress',
      `The consumers of '${entityKey}' were changed by other clients at the same time; try again.`,
      { subCode: '40901' },
    );
  }

  /** Makes a change, and waits until every process knows it. False = its condition failed. */
  async #write(
    entity: Entity,
    writesAt: (place: DocumentPlace) => readonly DocumentWrite[],
    isDone: (stored: Entity | undefined) => boolean,
  ): Promise<boolean> {
    const { changes } = this.#entities;
    const place = await this.#entities.placeOf(entity.key);
    if (place === undefined) throw entityNotFound(entity.name);
    return await changes.everywhere(entity.key, () =>
      changes.commit(writesAt(place), async () => isDone(await this.#entities.read(entity.key))),
    );
  }
}

function referenceTo({ id, key }: Entity, consumer: string): ConsumerReference {
  return { entityId: id, entityKey: key, consumer };
}

/** The write has this condition too; this is the sentence. */
function requireRoom(entity: Entity): void {
  const { perEntity } = CONSUMER_LIMITS;
  if (Object.keys(consumersOf(entity)).length < perEntity) return;
  throw new BrokerError(
    'QuotaExceeded',
    `The messaging entity '${entity.name}' has ${perEntity} consumers with its dead-letter queues, which is the limit: remove one first.`,
    { subCode: '40300' },
  );
}
