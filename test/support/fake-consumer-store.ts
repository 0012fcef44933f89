import type { ConsumerStore } from '../../shared/broker/ports/consumers.ts';
import type {
  ManagementDependencies,
  PushManagement,
} from '../../shared/broker/ports/management.ts';
import { entityNotFound } from '../../shared/domain/broker-error.ts';
import { consumerKey } from '../../shared/domain/consumers/consumer-key.ts';
import { consumerNotFound } from '../../shared/domain/consumers/consumer-refusals.ts';
import { consumersOf, type Entity } from '../../shared/domain/entities/entity.ts';

/** Keeps consumers in memory, in the entities of a fake store. */
export class FakeConsumerStore implements ConsumerStore {
  readonly #entities: Map<string, Entity>;

  constructor(entities: Map<string, Entity>) {
    this.#entities = entities;
  }

  put: ConsumerStore['put'] = async (entityKey, decide) => {
    const entity = this.#read(entityKey);
    const consumer = decide(entity);
    const key = consumerKey(consumer);
    const changed = { ...entity, consumers: { ...entity.consumers, [key]: consumer } };
    this.#entities.set(entityKey, changed);
    return { entity: changed, consumer, isNew: consumersOf(entity)[key] === undefined };
  };

  remove: ConsumerStore['remove'] = async (entityKey, name, requireMatch) => {
    const entity = this.#read(entityKey);
    const { [consumerKey(name)]: consumer, ...consumers } = consumersOf(entity);
    if (consumer === undefined) throw consumerNotFound(entity, name);
    requireMatch(consumer);
    const changed = { ...entity, consumers };
    this.#entities.set(entityKey, changed);
    return changed;
  };

  #read(key: string): Entity {
    const entity = this.#entities.get(key);
    if (entity === undefined) throw entityNotFound(key);
    return entity;
  }
}

/** A dispatcher that allows every target, and hears of nothing. */
export const ANY_PUSH: PushManagement & Pick<ManagementDependencies, 'onConsumersChanged'> = {
  allowsTarget: () => undefined,
  onConsumersChanged: () => {},
};
