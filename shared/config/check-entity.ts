import type { EntitySettings } from '../broker/management/describe-entity.ts';
import { firstRule } from '../broker/management/rules.ts';
import type { RuleInput } from '../broker/ports/management.ts';
import { BrokerError } from '../domain/broker-error.ts';
import {
  type AuthorizationRuleInput,
  authorizationRules,
} from '../domain/entities/authorization-rules.ts';
import type { EntityDescription } from '../domain/entities/descriptions.ts';
import { requireChildName, requireEntityName } from '../domain/entities/entity-path.ts';
import { newQueue, newSubscription, newTopic } from '../domain/entities/entity-settings.ts';
import {
  FORWARDING,
  isAddress as isDestinationAddress,
} from '../domain/entities/forwarding-settings.ts';
import { requireUnreservedEntityName } from '../domain/entities/reserved-names.ts';
import { DEFAULT_RULE_NAME } from '../domain/entities/rule-name.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { LIMITS } from '../domain/limits.ts';
import { present } from '../domain/present.ts';
import { FALSE_TEXT, type Filter, type RuleAction, TRUE_TEXT } from '../filters/rule.ts';
import { checkedConsumers } from './check-consumer.ts';
import type { Faults } from './faults.ts';
import type { EntityConfig, RuleConfig } from './namespace-config.ts';
import type { RawEntity, RawExpression, RawRule, Spelling } from './raw-entity.ts';
import { readSetting } from './read-setting.ts';
import { readValues, type ValueReader } from './rule-values.ts';
import { type EntityKind, SETTINGS } from './setting-table.ts';
import { takenName } from './taken-name.ts';

/** An entity whose settings and rules obey the rules of the service, except those about other entities. */
export interface CheckedEntity extends EntityConfig {
  readonly kind: EntityKind;
  readonly description: EntityDescription;
  /** The settings whose destination is an absolute address, not a name. */
  readonly addressed: ReadonlySet<string>;
}

/** How to check an entity. */
export interface CheckOptions {
  /**
   * On which the sizes of a partitioned entity depend. Undefined = not known before the settings are applied: they may
   * be those of any tier.
   */
  readonly tier: Tier | undefined;
  /** Reads values of properties and parameters. Default: the form of configurations. */
  readonly readValue?: ValueReader;
}

/**
 * Checks an entity by the rules of the domain, which a creation obeys too. Faults are noted; undefined if the name or
 * the settings as a whole have one.
 */
export function checkEntity(
  raw: RawEntity,
  spelling: Spelling,
  faults: Faults,
  { tier, readValue }: CheckOptions,
): CheckedEntity | undefined {
  const isNamed = faults.attempt(raw.nameAt, () => requireName(raw)) !== undefined;
  const input = checkedSettings(raw, spelling, faults, tier);
  const description = faults.attempt(raw.at, () => describe(raw.kind, input, tier));
  const rules = checkedRules(raw.rules ?? [], faults, readValue);
  const consumers = checkedConsumers(raw, spelling, faults);
  if (!isNamed || description === undefined) return undefined;
  const name = raw.topic === undefined ? raw.name : `${raw.topic}/Subscriptions/${raw.name}`;
  const places = Object.entries(SETTINGS[raw.kind]).flatMap(([setting, { field }]) => {
    const at = field in input ? raw.settings.get(setting)?.at : undefined;
    return at === undefined ? [] : [[setting, at] as const];
  });
  const settings = { kind: raw.kind, ...input } as EntitySettings;
  const addressed = new Set(FORWARDING.filter((one) => isAddress(raw.settings.get(one)?.value)));
  const entity = { kind: raw.kind, at: raw.at, name, settings, description, addressed };
  const checked = { ...entity, places: Object.fromEntries(places), ...present({ consumers }) };
  return raw.rules === undefined ? checked : { ...checked, rules };
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && isDestinationAddress(value);
}

/** Returns true. Throws ArgumentError. */
function requireName({ kind, name }: RawEntity): true {
  if (kind === 'subscription') {
    requireChildName(name);
  } else {
    requireEntityName(name);
    requireUnreservedEntityName(name);
  }
  return true;
}

type Input = Readonly<Record<string, unknown>>;

/** Each setting is checked alone, so that each fault has the path of its own. */
function checkedSettings(
  raw: RawEntity,
  spelling: Spelling,
  faults: Faults,
  tier: Tier | undefined,
): Input {
  const { kind, settings } = raw;
  const read = [...settings].flatMap(([name, { at, value }]) => {
    const setting = SETTINGS[kind][name];
    const field = setting?.field ?? name;
    const found = setting && readSetting(setting, { at, value, faults, ...spelling });
    return found === undefined ? [] : [{ at, field, found }];
  });
  // The sizes that an entity may have depend on its partitioning.
  const partitioning = read.filter(({ field }) => field === 'enablePartitioning');
  const enabled = Object.fromEntries(partitioning.map(({ field, found }) => [field, found]));
  const good = read.filter(({ at, field, found }) => {
    const input = { ...enabled, [field]: found };
    return faults.attempt(at, () => describe(kind, input, tier)) !== undefined;
  });
  return Object.fromEntries(good.map(({ field, found }) => [field, found]));
}

/** Stands for the keys that are generated when the entity is created. */
const NO_KEYS = { bytes: (count: number) => new Uint8Array(count) };

/** The description of a new entity in the domain. Throws ArgumentError. */
function describe(kind: EntityKind, input: Input, tier: Tier | undefined): EntityDescription {
  const isPartitioned = input['enablePartitioning'] === true;
  const inPremium = () => describeAs(kind, { ...input, partitions: LIMITS.partitionsPremium });
  if (isPartitioned && tier === 'Premium') return inPremium();
  try {
    return describeAs(kind, input);
  } catch (error) {
    if (!isPartitioned || tier !== undefined || !isAccepted(inPremium)) throw error;
    return inPremium();
  }
}

function isAccepted(describing: () => EntityDescription): boolean {
  try {
    describing();
    return true;
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return false;
  }
}

function describeAs(kind: EntityKind, input: Input): EntityDescription {
  const { authorizationRules: policies, ...settings } = input;
  if (policies !== undefined) {
    authorizationRules(policies as readonly AuthorizationRuleInput[], [], 0, NO_KEYS);
  }
  switch (kind) {
    case 'queue':
      return newQueue(settings);
    case 'topic':
      return newTopic(settings);
    case 'subscription':
      return newSubscription(settings);
  }
}

function checkedRules(
  rules: readonly RawRule[],
  faults: Faults,
  readValue?: ValueReader,
): readonly RuleConfig[] {
  const names = new Map<string, string>();
  for (const { name, at, nameAt } of rules) {
    const key = name.toLowerCase();
    const other = names.get(key);
    if (other === undefined) names.set(key, at);
    else faults.add(nameAt, takenName(name, other));
  }
  return rules.map((raw) => ({ at: raw.at, rule: checkRule(raw, faults, readValue) }));
}

const EVERY_MESSAGE: Filter = { kind: 'true' };

/**
 * Checks a rule by the rules of the domain. Its parts are checked one by one, so that each fault, which is noted, has
 * the path of its own. `readValue` reads values of properties and parameters; default: the form of configurations.
 */
export function checkRule(raw: RawRule, faults: Faults, readValue?: ValueReader): RuleInput {
  const { name } = raw;
  const { count } = faults;
  const filter = filterOf(raw, faults, readValue);
  // Without its faulty conditions a correlation filter may have none left.
  const isWhole =
    raw.correlation === undefined || !(raw.correlation.isFaulty || faults.count > count);
  const action: RuleAction | undefined = raw.action && expressionOf(raw.action, faults, readValue);
  faults.attempt(raw.nameAt, () => firstRule({ name, filter: EVERY_MESSAGE }));
  if (isWhole) {
    faults.attempt(raw.filterAt, () => firstRule({ name: DEFAULT_RULE_NAME, filter }));
  }
  if (action !== undefined && raw.action !== undefined) {
    const rule = { name: DEFAULT_RULE_NAME, filter: EVERY_MESSAGE, action };
    faults.attempt(raw.action.at, () => firstRule(rule));
  }
  return { name, filter, ...present({ action }) };
}

function filterOf(
  { sql, correlation }: RawRule,
  faults: Faults,
  readValue: ValueReader | undefined,
): Filter {
  if (correlation !== undefined) {
    const properties = readValues(correlation.properties, faults, readValue);
    return { kind: 'correlation', ...correlation.system, properties };
  }
  if (sql === undefined) return EVERY_MESSAGE;
  const filter = { kind: 'sql', ...expressionOf(sql, faults, readValue) } as const;
  if (Object.keys(filter.parameters).length > 0) return filter;
  if (filter.expression === TRUE_TEXT) return EVERY_MESSAGE;
  return filter.expression === FALSE_TEXT ? { kind: 'false' } : filter;
}

function expressionOf(
  { text, parameters }: RawExpression,
  faults: Faults,
  readValue: ValueReader | undefined,
): RuleAction {
  return { expression: text, parameters: readValues(parameters, faults, readValue) };
}
