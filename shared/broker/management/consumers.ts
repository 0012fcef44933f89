import { argumentError, entityNotFound } from '../../domain/broker-error.ts';
import type { Consumer } from '../../domain/consumers/consumer.ts';
import { type ConsumerName, consumerKey } from '../../domain/consumers/consumer-key.ts';
import {
  consumerNotFound,
  requireHasMessages,
  requireMayBeConsumed,
} from '../../domain/consumers/consumer-refusals.ts';
import { type ConsumerInput, consumerSettings } from '../../domain/consumers/consumer-settings.ts';
import { consumersOf, type Entity } from '../../domain/entities/entity.ts';
import {
  type EntityPath,
  parseEntityPath,
  requireChildName,
} from '../../domain/entities/entity-path.ts';
import { present } from '../../domain/present.ts';
import type { ConsumerState, ManagementDependencies } from '../ports/management.ts';
import { consumerTag, type IfMatch, requireMatch } from './if-match.ts';

/** A consumer and the entity it belongs to. */
export interface ConsumerOf {
  readonly entity: Entity;
  readonly consumer: Consumer;
  /** What the dispatcher does for it, where that was asked and is known. */
  readonly state?: ConsumerState;
}

/** A consumer that was put. */
export interface PutConsumer extends ConsumerOf {
  /** Whether it was created; else one of the same name was replaced. */
  readonly isNew: boolean;
}

const ID_BYTES = 6;

/**
 * The operations on consumers (semantics J1). `path` is that of a queue, a subscription or one of their dead-letter
 * queues. All methods throw MessagingEntityNotFound for an entity that does not exist, and, except for the deletion,
 * InvalidOperation for a topic.
 */
export class ConsumerManagement {
  readonly #dependencies: ManagementDependencies;

  constructor(dependencies: ManagementDependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws MessagingEntityNotFound, also for a consumer that does not exist. */
  async get(path: string, name: string): Promise<ConsumerOf> {
    requireChildName(name);
    const { at, entity } = await this.#find(path);
    const consumer = consumersOf(entity)[consumerKey({ ...at, name })];
    if (consumer === undefined) throw consumerNotFound(entity, { ...at, name });
    return await this.#withState({ entity, consumer });
  }

  /** The consumers of one queue or dead-letter queue, by name. */
  async list(path: string): Promise<readonly ConsumerOf[]> {
    const { at, entity } = await this.#find(path);
    const found = consumersIn(entity, at.subQueue);
    return await Promise.all(found.map((consumer) => this.#withState({ entity, consumer })));
  }

  /**
   * Creates a consumer, or replaces all settings of the one that has the name (semantics J5). Locks on messages stay.
   * Throws ArgumentError, InvalidOperation, PreconditionFailed, QuotaExceeded, ConflictInProgress.
   */
  async put(
    path: string,
    name: string,
    input: ConsumerInput,
    ifMatch?: IfMatch,
  ): Promise<PutConsumer> {
    requireChildName(name);
    const at = parseEntityPath(path);
    const settings = consumerSettings(input);
    const { consumers, clock, random, onConsumersChanged } = this.#dependencies;
    const key = consumerKey({ subQueue: at.subQueue, name });
    const newId = Buffer.from(random.bytes(ID_BYTES)).toString('base64url');
    const put = await consumers.put(at.key, (entity) => {
      const before = consumersOf(entity)[key];
      requireMayBeConsumed(entity, at.subQueue);
      if (ifMatch !== undefined) requireVersion(entity, before, { ...at, name }, ifMatch);
      this.#requireTarget(settings.target, entity, before);
      const now = clock.now();
      return {
        ...settings,
        // The spelling of the name and the time of creation stay, as for entities.
        name: before?.name ?? name,
        subQueue: at.subQueue,
        id: before?.id ?? newId,
        version: (before?.version ?? 0) + 1,
        createdAt: before?.createdAt ?? now,
        updatedAt: now,
      };
    });
    await onConsumersChanged(put.entity);
    return put;
  }

  /**
   * Deletes a consumer; its messages stay. Throws MessagingEntityNotFound, also for a consumer that does not exist,
   * PreconditionFailed, ConflictInProgress.
   */
  async remove(path: string, name: string, ifMatch: IfMatch = '*'): Promise<void> {
    requireChildName(name);
    const { key, subQueue } = parseEntityPath(path);
    const { consumers, onConsumersChanged } = this.#dependencies;
    const entity = await consumers.remove(key, { subQueue, name }, (current) =>
      requireMatch(ifMatch, consumerTag(current)),
    );
    await onConsumersChanged(entity);
  }

  async #withState({ entity, consumer }: ConsumerOf): Promise<ConsumerOf> {
    const state = await this.#dependencies.stateOf?.(entity, consumer);
    return { entity, consumer, ...present({ state }) };
  }

  async #find(path: string): Promise<{ readonly at: EntityPath; readonly entity: Entity }> {
    const at = parseEntityPath(path);
    const entity = await this.#dependencies.entities.read(at.key);
    if (entity === undefined) throw entityNotFound(path);
    requireHasMessages(entity);
    return { at, entity };
  }

  /** A target that the consumer has already may stay, whatever the rules are now (semantics J4). */
  #requireTarget(target: string, entity: Entity, current: Consumer | undefined): void {
    if (current?.target === target) return;
    const why = this.#dependencies.allowsTarget(target, entity, current);
    if (why !== undefined) throw argumentError(why);
  }
}

/** The consumers of a sub-queue of an entity, by name. */
export function consumersIn(
  entity: Pick<Entity, 'consumers'>,
  subQueue: EntityPath['subQueue'],
): readonly Consumer[] {
  return Object.entries(consumersOf(entity))
    .filter(([, consumer]) => consumer.subQueue === subQueue)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, consumer]) => consumer);
}

function requireVersion(
  entity: Entity,
  before: Consumer | undefined,
  name: ConsumerName,
  ifMatch: IfMatch,
): void {
  if (before === undefined) throw consumerNotFound(entity, name);
  requireMatch(ifMatch, consumerTag(before));
}
