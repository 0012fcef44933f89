import { alreadyExists, argumentError, entityNotFound } from '../../domain/broker-error.ts';
import { requireNoneConsumed } from '../../domain/consumers/consumer-refusals.ts';
import type {
  EntityDescription,
  SubscriptionDescription,
} from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { type EntityPath, parseEntityPath } from '../../domain/entities/entity-path.ts';
import {
  forwardingDestinationNotFound,
  forwardingDestinations,
  requireForwardingElsewhere,
  requireSessionsMayForward,
} from '../../domain/entities/forwarding-settings.ts';
import { requireUnreservedEntityName } from '../../domain/entities/reserved-names.ts';
import type { Tier } from '../../domain/entities/tier.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { ListPage, Page } from '../ports/entities.ts';
import type {
  ManagementDependencies,
  MessageCounts,
  RuleInput,
  RuntimeCounts,
} from '../ports/management.ts';
import { ConsumerManagement } from './consumers.ts';
import { describeEntity, type EntitySettings } from './describe-entity.ts';
import { type EntityWithRules, type EverythingReads, readEverything } from './everything.ts';
import { entityTag, type IfMatch, requireMatch } from './if-match.ts';
import { createWithin, QUOTAS, quotasOf } from './quotas.ts';
import { firstRule, RuleManagement } from './rules.ts';

/** An entity with its runtime counts. */
export interface EntityReport extends RuntimeCounts {
  readonly entity: Entity;
}

/** The runtime counts of an entity that was just created, which are known without counting. */
export function reportOfNew(entity: Entity): EntityReport {
  return { entity, ...NONE };
}

/** Which entities to list. */
export type ListSubject =
  | { readonly kind: 'queue' | 'topic' }
  | { readonly kind: 'subscription'; readonly topic: string };

/**
 * The operations on entities, which every surface calls (semantics N1, G1). The surface checks rights. Paths have
 * the client's spelling; all methods throw ArgumentError for a path that no entity can have.
 */
export class Management {
  /** The operations on rules of subscriptions. */
  readonly rules: RuleManagement;
  /** The operations on consumers of queues, subscriptions and their dead-letter queues. */
  readonly consumers: ConsumerManagement;
  readonly #dependencies: ManagementDependencies;

  constructor(dependencies: ManagementDependencies) {
    this.#dependencies = dependencies;
    this.rules = new RuleManagement(dependencies);
    this.consumers = new ConsumerManagement(dependencies);
  }

  /** The tier of the namespace. */
  get tier(): Tier {
    return this.#dependencies.namespace?.tier ?? 'Standard';
  }

  /**
   * Creates an entity. Throws ArgumentError (also for a forwarding destination that is missing, semantics #125),
   * MessagingEntityAlreadyExists (semantics #135), MessagingEntityNotFound (of a topic, semantics G3), QuotaExceeded.
   */
  async create(path: string, settings: EntitySettings): Promise<Entity> {
    const at = managedPath(path, settings.kind);
    const description = this.describe(settings);
    await this.#requireForwarding(at, description);
    if (description.kind === 'subscription') {
      const rule = settings.kind === 'subscription' ? settings.defaultRule : undefined;
      return this.#createSubscription(at, description, firstRule(rule));
    }
    requireUnreservedEntityName(at.name);
    await this.#requireFree(at);
    const { entities, quotaCounts, clock } = this.#dependencies;
    // Premium limits their number only by its resources (semantics #P15).
    const isLimited = description.enablePartitioning && this.tier !== 'Premium';
    const quotas = isLimited ? [QUOTAS.entities, QUOTAS.partitioned] : [QUOTAS.entities];
    return await createWithin(quotaCounts, {}, quotas, () =>
      entities.create(at.key, at.name, description, clock.now()),
    );
  }

  /**
   * Replaces the settings of an existing entity (semantics #135); a setting that is left out takes its default again.
   * Throws ArgumentError, InvalidOperation, MessagingEntityNotFound, PreconditionFailed, ConflictInProgress.
   */
  async update(path: string, settings: EntitySettings, ifMatch: IfMatch): Promise<Entity> {
    const at = managedPath(path, settings.kind);
    const current = await this.get(path, settings.kind);
    requireMatch(ifMatch, entityTag(current));
    const description = this.describe(settings, current.description);
    await this.#requireForwarding(at, description, current.description);
    if (description.kind !== 'topic') requireNoneConsumed(current, description.forwardTo);
    const { entities, clock, beginForwarding, onConsumersChanged } = this.#dependencies;
    const updated = await entities.update(current, description, clock.now());
    await beginForwarding(updated);
    await onConsumersChanged(updated);
    return updated;
  }

  /**
   * The entity as it is now. An entity of another kind than asked for is not found (semantics #144).
   * Throws MessagingEntityNotFound.
   */
  async get(path: string, kind?: EntityDescription['kind']): Promise<Entity> {
    const at = parseEntityPath(path);
    const entity =
      at.subQueue === 'main' ? await this.#dependencies.entities.read(at.key) : undefined;
    if (entity === undefined || (kind ?? entity.description.kind) !== entity.description.kind) {
      throw entityNotFound(path);
    }
    return entity;
  }

  /** Deletes an entity and its messages. Throws MessagingEntityNotFound, PreconditionFailed. */
  async delete(path: string, ifMatch: IfMatch = '*'): Promise<void> {
    const at = managedPath(path);
    const { entities, clock } = this.#dependencies;
    const isAny = ifMatch === '*';
    const requireTag = (entity: Entity) => requireMatch(ifMatch, entityTag(entity));
    await entities.remove(at.key, clock.now(), isAny ? undefined : requireTag);
  }

  /** Entities of one kind in order of their names. Throws MessagingEntityNotFound (of the topic). */
  async list(page: ListPage): Promise<Page<Entity>> {
    if (page.kind === 'subscription') await this.get(page.topic, 'topic');
    return await this.#dependencies.entities.list({
      ...page,
      top: Math.min(page.top, LIMITS.listPage),
    });
  }

  /**
   * Up to `top` entities of all kinds with their counts and rules, part by part, as `readEverything` says: queues and
   * topics in order of their keys, each topic followed by its subscriptions. `after` = the path after which to start,
   * whether its entity exists or not. Reads a bounded part of the namespace, wherever the list begins, so entities that
   * come and go do not move others.
   */
  everything(
    after: string | undefined,
    top: number,
    rulesMax: number,
  ): AsyncGenerator<Page<EntityWithRules>> {
    const key = after === undefined ? undefined : parseEntityPath(after).key;
    const { entities } = this.#dependencies;
    const reads: EverythingReads = {
      page: (from, most) => entities.page(from, most),
      report: (some) => this.report(some),
      rulesOf: (subscriptions) => this.rules.listOf(subscriptions, rulesMax),
    };
    return readEverything(reads, key, Math.min(top, LIMITS.everythingPage));
  }

  /** The runtime counts of entities, in the order given. `filters` = whether to count those of topics, too. */
  async report(entities: readonly Entity[], filters = false): Promise<readonly EntityReport[]> {
    const counts = await this.#dependencies.counts.of(entities, filters);
    return entities.map((entity, i) => ({ entity, ...(counts[i] ?? NONE) }));
  }

  async #createSubscription(
    at: EntityPath,
    description: SubscriptionDescription,
    rule: RuleInput,
  ): Promise<Entity> {
    if (at.subscription === undefined) throw entityNotFound(at.name);
    const topic = await this.get(at.subscription.topic, 'topic');
    await this.#requireFree(at);
    const { rules, quotaCounts, clock } = this.#dependencies;
    const name = `${topic.name}/Subscriptions/${at.subscription.name}`;
    const now = clock.now();
    const subscription = { key: at.key, name, description };
    const quotas = [QUOTAS.subscriptions, ...quotasOf(rule.filter)];
    return await createWithin(quotaCounts, { topicId: topic.id }, quotas, () =>
      rules.createSubscription(subscription, { ...rule, createdAt: now }, now),
    );
  }

  /**
   * The description that an entity has after its creation, or after an update of `current`, with these settings. Writes
   * nothing. Throws ArgumentError.
   */
  describe(input: EntitySettings, current?: EntityDescription): EntityDescription {
    const { namespace, clock, random } = this.#dependencies;
    return describeEntity(input, current, { namespace, now: clock.now(), random });
  }

  /** An update that leaves a destination as it was is accepted even if that is gone (semantics #125). */
  async #requireForwarding(
    at: EntityPath,
    description: EntityDescription,
    current?: EntityDescription,
  ): Promise<void> {
    requireForwardingElsewhere(at, description);
    for (const name of forwardingDestinations(description, current)) {
      const destination = await this.#dependencies.entities.read(name.toLowerCase());
      const kind = destination?.description.kind;
      if (kind !== 'queue' && kind !== 'topic') throw forwardingDestinationNotFound(name);
      if (description.kind !== 'topic' && name === description.forwardTo) {
        requireSessionsMayForward(description, kind, current);
      }
    }
  }

  async #requireFree(at: EntityPath): Promise<void> {
    if ((await this.#dependencies.entities.read(at.key)) === undefined) return;
    throw alreadyExists(at.name);
  }
}

/** The counts of an entity without messages. */
export const NO_MESSAGES: MessageCounts = {
  size: 0,
  active: 0,
  deferred: 0,
  deadLetter: 0,
  scheduled: 0,
  transfer: 0,
  transferDeadLetter: 0,
  isEstimate: false,
};

const NONE: RuntimeCounts = { messages: NO_MESSAGES, subscriptions: 0 };

/** Parses the path of an entity that management may create, change or delete (semantics #32). */
function managedPath(path: string, kind?: EntityDescription['kind']): EntityPath {
  const at = parseEntityPath(path);
  if (at.subQueue !== 'main') {
    throw argumentError(
      `'${path}' comes and goes with its entity; it cannot be created, changed or deleted on its own.`,
    );
  }
  if (kind !== undefined && (kind === 'subscription') !== (at.subscription !== undefined)) {
    throw argumentError(`The path '${at.name}' is not that of a ${kind}.`);
  }
  return at;
}
