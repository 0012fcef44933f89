import { assert } from '../../domain/assert.ts';
import { alreadyExists, type BrokerError, entityNotFound } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { parseEntityPath } from '../../domain/entities/entity-path.ts';
import { requireUnreservedRuleName } from '../../domain/entities/reserved-names.ts';
import { DEFAULT_RULE_NAME, requireRuleName } from '../../domain/entities/rule-name.ts';
import { LIMITS } from '../../domain/limits.ts';
import { validateRule } from '../../filters/rule.ts';
import type { Page } from '../ports/entities.ts';
import type {
  ManagementDependencies,
  QuotaScope,
  RuleInput,
  StoredRule,
} from '../ports/management.ts';
import { type IfMatch, requireMatch, ruleTag } from './if-match.ts';
import { createWithin, quotasOf } from './quotas.ts';
import { requireRuleFits } from './rule-size.ts';

/** A rule and the subscription it belongs to. */
export interface RuleOf {
  readonly subscription: Entity;
  readonly stored: StoredRule;
}

/**
 * The operations on rules. `path` is that of the subscription. All methods throw
 * MessagingEntityNotFound for a subscription that does not exist (semantics G3).
 */
export class RuleManagement {
  readonly #dependencies: ManagementDependencies;

  constructor(dependencies: ManagementDependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws ArgumentError, MessagingEntityAlreadyExists, QuotaExceeded. */
  async create(path: string, rule: RuleInput): Promise<RuleOf> {
    requireRule(rule);
    requireUnreservedRuleName(rule.name);
    const { rules, quotaCounts, clock } = this.#dependencies;
    const entity = await this.#subscription(path);
    if ((await rules.read(entity, rule.name)) !== undefined) throw exists(entity, rule.name);
    const create = () => rules.create(entity, { ...rule, createdAt: clock.now() });
    const stored = await createWithin(quotaCounts, topicOf(entity), quotasOf(rule.filter), create);
    return { subscription: entity, stored };
  }

  /** Throws ArgumentError, MessagingEntityNotFound, PreconditionFailed, ConflictInProgress. */
  async update(path: string, rule: RuleInput, ifMatch: IfMatch): Promise<RuleOf> {
    requireRule(rule);
    const { rules, quotaCounts, clock } = this.#dependencies;
    const entity = await this.#subscription(path);
    const current = await this.#rule(entity, rule.name);
    requireMatch(ifMatch, ruleTag(current));
    const isOtherKind = current.rule.filter.kind !== rule.filter.kind;
    const quotas = isOtherKind ? quotasOf(rule.filter) : [];
    // The spelling of the name and the time of creation stay, as for entities.
    const { name, createdAt } = current.rule;
    const changed = { ...rule, name, createdAt };
    const update = () => rules.update(entity, current, changed, clock.now());
    const stored = await createWithin(quotaCounts, topicOf(entity), quotas, update);
    return { subscription: entity, stored };
  }

  /** Throws MessagingEntityNotFound. */
  async get(path: string, name: string): Promise<RuleOf> {
    const entity = await this.#subscription(path);
    return { subscription: entity, stored: await this.#rule(entity, name) };
  }

  /** Throws MessagingEntityNotFound, PreconditionFailed, ConflictInProgress. */
  async delete(path: string, name: string, ifMatch: IfMatch = '*'): Promise<void> {
    const entity = await this.#subscription(path);
    const isAny = ifMatch === '*';
    const requireTag = (stored: StoredRule) => requireMatch(ifMatch, ruleTag(stored));
    await this.#dependencies.rules.remove(entity, name, isAny ? undefined : requireTag);
  }

  /**
   * The rules in the order in which the live service lists them: by creation in management (semantics T5), by name in
   * `$management` of AMQP.
   */
  async list(
    path: string,
    page: { skip: number; top: number; order?: 'creation' | 'name' },
  ): Promise<Page<RuleOf>> {
    const entity = await this.#subscription(path);
    const top = Math.min(page.top, LIMITS.listPage);
    const ordered = page.order === 'name' ? byName : byCreation;
    const all = (await this.#dependencies.rules.list(entity)).toSorted(ordered);
    const items = all.slice(page.skip, page.skip + top);
    return {
      items: items.map((stored) => ({ subscription: entity, stored })),
      more: all.length > page.skip + top,
    };
  }

  /**
   * Up to `most` rules of each subscription, by the id of the subscription: the first by name, in the order of their
   * creation.
   */
  async listOf(
    subscriptions: readonly Entity[],
    most: number,
  ): Promise<ReadonlyMap<string, Page<StoredRule>>> {
    const found = await this.#dependencies.rules.listOf(subscriptions, most);
    const ordered = [...found].map(([id, { items, more }]) => {
      return [id, { items: items.toSorted(byCreation), more }] as const;
    });
    return new Map(ordered);
  }

  async #subscription(path: string): Promise<Entity> {
    const at = parseEntityPath(path);
    const entity = await this.#dependencies.entities.read(at.key);
    if (at.subscription === undefined || entity?.description.kind !== 'subscription') {
      throw entityNotFound(path);
    }
    return entity;
  }

  async #rule(subscription: Entity, name: string): Promise<StoredRule> {
    const found = await this.#dependencies.rules.read(subscription, name);
    if (found === undefined) throw entityNotFound(`${subscription.name}/Rules/${name}`);
    return found;
  }
}

function topicOf({ parentId }: Entity): QuotaScope {
  assert(parentId !== undefined, 'a subscription has the id of its topic');
  return { topicId: parentId };
}

/** The first rule of a subscription: the client's, or one that matches every message (semantics #100). */
export function firstRule(input: RuleInput | undefined): RuleInput {
  const rule: RuleInput = input ?? { name: DEFAULT_RULE_NAME, filter: { kind: 'true' } };
  requireRule(rule);
  requireUnreservedRuleName(rule.name);
  return rule;
}

function requireRule(rule: RuleInput): void {
  requireRuleName(rule.name);
  validateRule(rule);
  requireRuleFits(rule);
}

function byCreation(a: StoredRule, b: StoredRule): number {
  return a.rule.createdAt - b.rule.createdAt || byName(a, b);
}

/** Compares rules by name. No two names differ only in case. */
function byName({ rule: a }: StoredRule, { rule: b }: StoredRule): number {
  return a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1;
}

function exists(subscription: Entity, rule: string): BrokerError {
  return alreadyExists(`${subscription.name}/Rules/${rule}`);
}
