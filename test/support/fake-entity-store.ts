import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { TokenCache } from '../../shared/auth/token-cache.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import { Management } from '../../shared/broker/management/management.ts';
import type { EntityStore, ListPage, Page } from '../../shared/broker/ports/entities.ts';
import type {
  EntityCounts,
  MessageCounts,
  QuotaCounts,
  QuotaName,
  RuleStore,
  StoredRule,
} from '../../shared/broker/ports/management.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import type {
  AuthorizationRule,
  EntityDescription,
} from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import { ANY_PUSH, FakeConsumerStore } from './fake-consumer-store.ts';

/** Keeps entities in memory. Implements the whole port, so that management is testable without a database. */
export class FakeEntityStore implements EntityStore {
  readonly byKey = new Map<string, Entity>();
  #created = 0;

  async find(key: string): Promise<Entity | undefined> {
    return this.byKey.get(key);
  }

  async read(key: string): Promise<Entity | undefined> {
    return this.byKey.get(key);
  }

  async create(
    key: string,
    name: string,
    description: EntityDescription,
    now: number,
  ): Promise<Entity> {
    if (this.byKey.has(key)) throw alreadyExists(name);
    const id = `id${++this.#created}`;
    const generations = { main: 0, deadLetter: 0, transferDeadLetter: 0 };
    const topic = this.byKey.get(key.split('/subscriptions/')[0] ?? '');
    const entity = {
      id,
      ...(topic !== undefined && { parentId: topic.id }),
      key,
      name,
      epoch: 0,
      generations,
      createdAt: now,
      updatedAt: now,
      description,
    };
    this.byKey.set(key, entity);
    return entity;
  }

  async update(entity: Entity, description: EntityDescription, now: number): Promise<Entity> {
    const current = this.byKey.get(entity.key);
    if (current?.id !== entity.id) throw entityNotFound(entity.name);
    if (current.epoch !== entity.epoch) throw new BrokerError('ConflictInProgress', 'Changed.');
    const changed = { ...current, epoch: current.epoch + 1, updatedAt: now, description };
    this.byKey.set(entity.key, changed);
    return changed;
  }

  async remove(key: string, _now: number, requireMatch?: (entity: Entity) => void): Promise<void> {
    const entity = this.byKey.get(key);
    if (entity === undefined) throw entityNotFound(key);
    requireMatch?.(entity);
    this.byKey.delete(key);
    for (const child of this.byKey.keys()) {
      if (child.startsWith(`${key}/subscriptions/`)) this.byKey.delete(child);
    }
  }

  async purge(entity: Entity): Promise<Entity> {
    return entity;
  }

  async list(page: ListPage): Promise<Page<Entity>> {
    const all = [...this.byKey.values()]
      .filter(({ key, description }) => {
        if (description.kind !== page.kind) return false;
        return page.kind !== 'subscription' || key.startsWith(`${page.topic}/subscriptions/`);
      })
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const end = page.skip + page.top;
    return { items: all.slice(page.skip, end), more: all.length > end };
  }

  async page(after: string | undefined, top: number): Promise<Page<Entity>> {
    // A topic's subscriptions follow it at once.
    const order = (key: string) => key.replaceAll('/subscriptions/', '\u0000');
    const all = [...this.byKey.values()]
      .filter(({ key }) => after === undefined || order(key) > order(after))
      .sort((a, b) => (order(a.key) < order(b.key) ? -1 : 1));
    return { items: all.slice(0, top), more: all.length > top };
  }

  forget(): void {}
}

/** Keeps rules in memory, beside the entities of a fake store. */
export class FakeRuleStore implements RuleStore {
  readonly #entities: FakeEntityStore;
  readonly #rules = new Map<string, Map<string, StoredRule>>();

  constructor(entities: FakeEntityStore) {
    this.#entities = entities;
  }

  createSubscription: RuleStore['createSubscription'] = async (
    { key, name, description },
    rule,
    now,
  ) => {
    const entity = await this.#entities.create(key, name, description, now);
    await this.create(entity, rule);
    return { ...entity, description };
  };

  read: RuleStore['read'] = async (subscription, name) =>
    this.#of(subscription).get(name.toLowerCase());

  create: RuleStore['create'] = async (subscription, rule) => {
    if (this.#of(subscription).has(rule.name.toLowerCase())) throw alreadyExists(rule.name);
    return this.#put(subscription, { rule, version: 0, updatedAt: rule.createdAt });
  };

  update: RuleStore['update'] = async (subscription, current, rule, now) => {
    const there = this.#of(subscription).get(rule.name.toLowerCase());
    if (there === undefined) throw entityNotFound(rule.name);
    if (there.version !== current.version) throw new BrokerError('ConflictInProgress', 'Changed.');
    return this.#put(subscription, { rule, version: current.version + 1, updatedAt: now });
  };

  remove: RuleStore['remove'] = async (subscription, name, requireMatch) => {
    const stored = this.#of(subscription).get(name.toLowerCase());
    if (stored === undefined) throw entityNotFound(name);
    requireMatch?.(stored);
    this.#of(subscription).delete(name.toLowerCase());
  };

  list: RuleStore['list'] = async (subscription) => [...this.#of(subscription).values()];

  listOf: RuleStore['listOf'] = async (subscriptions, most) =>
    new Map(
      subscriptions.map((one) => {
        const rules = [...this.#of(one).values()];
        return [one.id, { items: rules.slice(0, most), more: rules.length > most }] as const;
      }),
    );

  #of({ id }: Entity): Map<string, StoredRule> {
    const rules = this.#rules.get(id) ?? new Map<string, StoredRule>();
    this.#rules.set(id, rules);
    return rules;
  }

  #put(subscription: Entity, stored: StoredRule): StoredRule {
    this.#of(subscription).set(stored.rule.name.toLowerCase(), stored);
    return stored;
  }
}

/** Counts the entities and rules of the fake stores; tests set the message counts. */
export class FakeCounts implements EntityCounts, QuotaCounts {
  readonly #entities: FakeEntityStore;
  readonly #rules: FakeRuleStore;
  /** By the key of the entity; entities without an entry have no messages. */
  readonly messagesByKey = new Map<string, MessageCounts>();
  #set: Partial<Record<QuotaName, number>> = {};

  constructor(entities: FakeEntityStore, rules: FakeRuleStore) {
    this.#entities = entities;
    this.#rules = rules;
  }

  of: EntityCounts['of'] = async (entities) =>
    entities.map(({ id, key }) => ({
      messages: this.messagesByKey.get(key) ?? EMPTY,
      subscriptions: this.#subscriptionsOf(id).length,
    }));

  numbersOf: QuotaCounts['numbersOf'] = async ({ topicId = '' }, quotas) => {
    const rules = await Promise.all(
      this.#subscriptionsOf(topicId).map((one) => this.#rules.list(one)),
    );
    const filters = (kind: string) =>
      rules.flat().filter(({ rule }) => rule.filter.kind === kind).length;
    const topLevel = [...this.#entities.byKey.values()].flatMap(({ description }) =>
      description.kind === 'subscription' ? [] : [description],
    );
    const numbers: Record<QuotaName, number> = {
      entities: topLevel.length,
      partitioned: topLevel.filter(({ enablePartitioning }) => enablePartitioning).length,
      subscriptions: this.#subscriptionsOf(topicId).length,
      sqlFilters: filters('sql'),
      correlationFilters: filters('correlation'),
      ...this.#set,
    };
    return quotas.map(({ name }) => numbers[name]);
  };

  /** From now on there are so many, whatever is in the stores. */
  set(numbers: Partial<Record<QuotaName, number>>): void {
    this.#set = numbers;
  }

  noteCreated: QuotaCounts['noteCreated'] = async () => {};

  #subscriptionsOf(topicId: string): readonly Entity[] {
    return [...this.#entities.byKey.values()].filter(({ parentId }) => parentId === topicId);
  }
}

const EMPTY: MessageCounts = {
  size: 0,
  active: 0,
  deferred: 0,
  deadLetter: 0,
  scheduled: 0,
  transfer: 0,
  transferDeadLetter: 0,
  isEstimate: false,
};

function alreadyExists(name: string): BrokerError {
  return new BrokerError(
    'MessagingEntityAlreadyExists',
    `The messaging entity '${name}' already exists.`,
    { subCode: '40900' },
  );
}

/** The dependencies of the management routes, in memory. */
export function fakeManageDependencies(root: { readonly keyName: string; readonly key: string }) {
  const entities = new FakeEntityStore();
  const rules = new FakeRuleStore(entities);
  const consumers = new FakeConsumerStore(entities.byKey);
  const counts = new FakeCounts(entities, rules);
  const clock = { now: () => Date.now() };
  const random = { bytes: (count: number) => new Uint8Array(randomBytes(count)) };
  const rootRule: AuthorizationRule = {
    keyName: root.keyName,
    primaryKey: root.key,
    secondaryKey: root.key,
    rights: ['Manage', 'Send', 'Listen'],
    createdAt: 0,
    modifiedAt: 0,
  };
  return {
    entities,
    rules,
    consumers,
    ...ANY_PUSH,
    counts,
    clock,
    tokenClock: clock,
    random,
    management: new Management({
      entities,
      rules,
      consumers,
      ...ANY_PUSH,
      counts,
      quotaCounts: counts,
      clock,
      random,
      beginForwarding: () => Promise.resolve(),
    }),
    broker: NO_BROKER,
    namespace: 'testns',
    namespaceKeys: { rules: async () => [rootRule] },
    tokens: new TokenCache(new AgeClock(clock, () => 0)),
    memory: new MemoryBudget(Number.POSITIVE_INFINITY),
    workTurns: new WorkTurns(realScheduler),
    receiveWaitMsMax: 0,
  };
}

/** Management never touches messages. */
const NO_BROKER = new Proxy({} as Broker, {
  get: () => assert.fail('management called the broker of messages'),
});
