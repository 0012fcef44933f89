import { isDeepStrictEqual } from 'node:util';
import type { Page } from '../../broker/ports/entities.ts';
import type { NewSubscription, RuleStore, StoredRule } from '../../broker/ports/management.ts';
import { assert } from '../../domain/assert.ts';
import { alreadyExists, BrokerError, entityNotFound } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import type { SubscriptionDescription } from '../../domain/entities/descriptions.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { groupBy } from '../../domain/group-by.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { KB, MB } from '../../domain/units.ts';
import type { Rule } from '../../filters/rule.ts';
import type { Document, DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import { rulesOf } from '../schema/entity-keys.ts';
import type { DynamoEntityStore } from './entity-store.ts';
import { decodeRule, encodeRule } from './rule-codec.ts';

/** The dependencies of `DynamoRuleStore`. */
export interface RuleStoreDependencies {
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly entities: DynamoEntityStore;
  readonly random: RandomSource;
}

/** Rules of subscriptions in DynamoDB: one document each, all rules of a topic in one collection. */
export class DynamoRuleStore implements RuleStore {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  readonly #entities: DynamoEntityStore;
  readonly #random: RandomSource;

  constructor({ documents, namespace, entities, random }: RuleStoreDependencies) {
    this.#table = documents;
    this.#namespace = namespace;
    this.#entities = entities;
    this.#random = random;
  }

  async createSubscription(
    { key, name, description }: NewSubscription,
    rule: Rule,
    now: number,
  ): Promise<Entity<SubscriptionDescription>> {
    const entity = await this.#entities.create(key, name, description, now, (subscription) => [
      this.#put(subscription, this.#new(rule, now), NEW),
    ]);
    return entity as Entity<SubscriptionDescription>;
  }

  async read(subscription: Entity, name: string): Promise<StoredRule | undefined> {
    const document = await this.#table.get(this.#keyOf(subscription, name));
    return document && ruleOf(document);
  }

  async create(subscription: Entity, rule: Rule): Promise<StoredRule> {
    const stored = this.#new(rule, rule.createdAt);
    if (await this.#write(subscription, stored, NEW)) return stored;
    throw alreadyExists(`${subscription.name}/Rules/${rule.name}`);
  }

  /** Stores a rule of a subscription that no process knows yet, so it waits for none. */
  async put(subscription: Entity, rule: Rule): Promise<void> {
    const stored = this.#new(rule, rule.createdAt);
    await this.#table.put({ ...this.#keyOf(subscription, rule.name), ...toDocument(stored) });
  }

  async update(
    subscription: Entity,
    current: StoredRule,
    rule: Rule,
    now: number,
  ): Promise<StoredRule> {
    const changed: StoredRule = {
      ...current,
      rule,
      version: current.version + 1,
      updatedAt: now,
    };
    if (await this.#write(subscription, changed, unchanged(current))) return changed;
    if ((await this.read(subscription, rule.name)) === undefined) {
      throw notFound(subscription, rule.name);
    }
    throw changedMeanwhile(rule.name);
  }

  async remove(
    subscription: Entity,
    name: string,
    requireMatch?: (stored: StoredRule) => void,
  ): Promise<void> {
    const at = { TableName: this.#table.name, Key: this.#keyOf(subscription, name) };
    const requireVersion = async (match: (stored: StoredRule) => void) => {
      const current = await this.read(subscription, name);
      if (current === undefined) throw notFound(subscription, name);
      match(current);
      return current;
    };
    const condition = requireMatch ? unchanged(await requireVersion(requireMatch)) : EXISTING;
    const isGone = async () => (await this.read(subscription, name)) === undefined;
    const isRemoved = await this.#entities.changes.everywhere(subscription.key, () =>
      this.#entities.changes.commit([{ Delete: { ...at, ...condition } }], isGone),
    );
    if (isRemoved) return;
    if (requireMatch === undefined) throw notFound(subscription, name);
    await requireVersion(requireMatch);
    throw changedMeanwhile(name);
  }

  /** Writes a rule, and waits until all senders use it (semantics #120). False = the condition failed. */
  #write(subscription: Entity, stored: StoredRule, condition: object): Promise<boolean> {
    const isThere = async () =>
      isDeepStrictEqual(
        await this.read(subscription, stored.rule.name),
        ruleOf(toDocument(stored)),
      );
    return this.#entities.changes.everywhere(subscription.key, () =>
      this.#entities.changes.commit([this.#put(subscription, stored, condition)], isThere),
    );
  }

  async list(subscription: Entity): Promise<readonly StoredRule[]> {
    const rules: StoredRule[] = [];
    const prefix = `${subscription.id}/`;
    for await (const document of this.#table.all(this.#collection(subscription), prefix)) {
      rules.push(ruleOf(document));
    }
    return rules;
  }

  /**
   * Reads the collection of a topic if it has no more than `RULES_TOGETHER` rules for each of the subscriptions, and
   * else, after that one query, the rules of each subscription. After `ALL_BYTES`, the others have none and more.
   */
  async listOf(
    subscriptions: readonly Entity[],
    most: number,
  ): Promise<ReadonlyMap<string, Page<StoredRule>>> {
    const found = new Map<string, Page<StoredRule>>();
    const budget = { bytes: ALL_BYTES };
    for (const together of groupBy(subscriptions, (one) => this.#collection(one)).values()) {
      const [first] = together;
      const all =
        first && (await this.#upTo(first, undefined, together.length * RULES_TOGETHER, budget));
      const bySubscription = groupBy(all?.items ?? [], ({ sk }) => String(sk).split('/', 1)[0]);
      await inParallel(together, WIDTH, async (one) => {
        const documents =
          all?.more === false
            ? pageOf(bySubscription.get(one.id) ?? [], most)
            : await this.#upTo(one, `${one.id}/`, most, budget);
        found.set(one.id, { ...documents, items: documents.items.map(ruleOf) });
      });
    }
    return found;
  }

  /** Up to `most` documents of the rules of the topic above `subscription`, and no more than a share of the budget. */
  async #upTo(
    subscription: Entity,
    prefix: string | undefined,
    most: number,
    budget: { bytes: number },
  ): Promise<Page<Document>> {
    const documents: Document[] = [];
    if (budget.bytes <= 0) return { items: [], more: true };
    const collection = this.#collection(subscription);
    let bytes = 0;
    for await (const document of this.#table.all(collection, prefix, { pageSize: most + 1 })) {
      if (documents.length === most || bytes > SHARE_BYTES) return { items: documents, more: true };
      documents.push(document);
      bytes += bytesOf(document);
      budget.bytes -= bytesOf(document);
    }
    return { items: documents, more: false };
  }

  #new(rule: Rule, updatedAt: number): StoredRule {
    const version = Buffer.from(this.#random.bytes(VERSION_BYTES)).readUIntBE(0, VERSION_BYTES);
    return { rule, version, updatedAt };
  }

  #put(subscription: Entity, stored: StoredRule, condition: object): DocumentWrite {
    const Item = { ...this.#keyOf(subscription, stored.rule.name), ...toDocument(stored) };
    return { Put: { TableName: this.#table.name, Item, ...condition } };
  }

  #collection(subscription: Entity): string {
    return rulesOf(this.#namespace, subscription.parentId ?? subscription.id);
  }

  /** One rule for each name, in any case of letters (semantics #119). */
  #keyOf(subscription: Entity, name: string): ItemKey {
    return {
      pk: this.#collection(subscription),
      sk: `${subscription.id}/${name.toLowerCase()}`,
    };
  }
}

/** The size of the first version of a rule. Changes raise it, and numbers are exact up to 53 bits. */
const VERSION_BYTES = 6;

/** Rules for each subscription of a topic that are read with one query for all of them. */
const RULES_TOGETHER = 4;
/** Subscriptions of which the rules are read at the same time. */
const WIDTH = 16;

/**
 * Bytes of rules after which one call begins no further query, and those of one query; more than a client would want to
 * see. Queries that run at the same time may read more together: if each stopped at what the others had read, rules of
 * all of them would be missing, while the caller goes on behind those that it has room for.
 */
const ALL_BYTES = 4 * MB;
const SHARE_BYTES = 512 * KB;

/** The size of the rule in a document. */
export function bytesOf({ rule }: Document): number {
  return rule instanceof Uint8Array ? rule.byteLength : 0;
}

function pageOf(documents: readonly Document[], most: number): Page<Document> {
  return { items: documents.slice(0, most), more: documents.length > most };
}

const NEW = { ConditionExpression: 'attribute_not_exists(pk)' } as const;
const EXISTING = { ConditionExpression: 'attribute_exists(pk)' } as const;

/** The condition that a rule is still the version that was read. */
function unchanged({ version }: StoredRule) {
  return {
    ConditionExpression: 'version = :version',
    ExpressionAttributeValues: { ':version': version },
  };
}

function changedMeanwhile(rule: string): BrokerError {
  return new BrokerError(
    'ConflictInProgress',
    `The rule '${rule}' was changed by another client at the same time; read it and try again.`,
    { subCode: '40901' },
  );
}

function notFound(subscription: Entity, name: string): BrokerError {
  return entityNotFound(`${subscription.name}/Rules/${name}`);
}

/** The rule itself is stored as bytes, because documents do not keep the types of its values. */
function toDocument({ rule, version, updatedAt }: StoredRule): Document {
  return { rule: encodeRule(rule), kind: rule.filter.kind, version, updatedAt };
}

/** The rule in a document. */
export function ruleOf(document: Document): StoredRule {
  const bytes = document['rule'];
  assert(bytes instanceof Uint8Array, 'a stored rule is bytes');
  return {
    rule: decodeRule(bytes),
    version: Number(document['version']),
    updatedAt: Number(document['updatedAt']),
  };
}
