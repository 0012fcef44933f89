import { isDeepStrictEqual } from 'node:util';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import { writtenRuleValue } from '../../shared/config/rule-values.ts';
import {
  ALWAYS_WRITTEN,
  type EntityKind,
  fileName,
  SETTINGS,
} from '../../shared/config/setting-table.ts';
import { writtenSetting } from '../../shared/config/written-setting.ts';
import {
  type EntityDescription,
  QUEUE_DEFAULTS,
  type QueueDescription,
  SUBSCRIPTION_DEFAULTS,
  type SubscriptionDescription,
  TOPIC_DEFAULTS,
  type TopicDescription,
} from '../../shared/domain/entities/descriptions.ts';
import { DEFAULT_RULE_NAME } from '../../shared/domain/entities/rule-name.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { FALSE_TEXT, type Filter, type RuleAction, TRUE_TEXT } from '../../shared/filters/rule.ts';
import { consumersOf, type ExportedConsumer } from './to-consumers.ts';

/** An entity without what is in it. `name` = that of a subscription within its topic. */
export interface ExportedEntity<Description extends EntityDescription> {
  readonly name: string;
  readonly description: Description;
  /** Of a queue or subscription; absent = none. */
  readonly consumers?: readonly ExportedConsumer[];
}

/** A topic with its subscriptions. */
export interface ExportedTopic extends ExportedEntity<TopicDescription> {
  readonly subscriptions: readonly ExportedSubscription[];
}

/** A subscription with its rules. */
export interface ExportedSubscription extends ExportedEntity<SubscriptionDescription> {
  readonly rules: readonly RuleInput[];
}

/** The entities of a namespace. */
export interface ExportedNamespace {
  readonly queues: readonly ExportedEntity<QueueDescription>[];
  readonly topics: readonly ExportedTopic[];
}

/** The name that the vendor's emulator requires. */
const NAMESPACE = 'sbemulatorns';

/**
 * The file of the vendor's emulator for entities, as an object to print as JSON, which `parseConfig` reads. Settings
 * that have their defaults are left out, except those that the vendor's file always has. The keys of shared access
 * policies are in it.
 */
export function toConfig({ queues, topics }: ExportedNamespace): Readonly<Record<string, unknown>> {
  const namespace = {
    Name: NAMESPACE,
    Queues: queues.map(entityOf),
    Topics: topics.map((topic) => ({
      ...entityOf(topic),
      Subscriptions: topic.subscriptions.map(subscriptionOf),
    })),
  };
  return { UserConfig: { Namespaces: [namespace], Logging: { Type: 'File' } } };
}

const DEFAULTS: Readonly<Record<EntityKind, EntityDescription>> = {
  queue: QUEUE_DEFAULTS,
  topic: TOPIC_DEFAULTS,
  subscription: SUBSCRIPTION_DEFAULTS,
};

function entityOf({ name, description, consumers }: ExportedEntity<EntityDescription>) {
  const { kind } = description;
  const defaults = new Map<string, unknown>(Object.entries(DEFAULTS[kind]));
  const found = new Map<string, unknown>(Object.entries(description));
  const properties = Object.entries(SETTINGS[kind]).flatMap(([setting, { field, form }]) => {
    const value = writtenSetting(form, found.get(field));
    const isDefault = isDeepStrictEqual(value, writtenSetting(form, defaults.get(field)));
    if (isDefault && !ALWAYS_WRITTEN[kind].includes(setting)) return [];
    // A queue can be its own destination only by its address (semantics #126).
    const isOwn = form === 'destination' && String(value).toLowerCase() === name.toLowerCase();
    return [[fileName(setting), isOwn ? `sb://${NAMESPACE}/${value}` : value] as const];
  });
  return { Name: name, Properties: Object.fromEntries(properties), ...consumersOf(consumers) };
}

function subscriptionOf({ rules, ...subscription }: ExportedSubscription) {
  const entity = entityOf(subscription);
  const [only] = rules;
  const isDefault =
    rules.length === 1 &&
    only?.name.toLowerCase() === DEFAULT_RULE_NAME.toLowerCase() &&
    only.filter.kind === 'true' &&
    only.action === undefined;
  if (isDefault) return entity;
  // A file has no form for a subscription without rules, which gets no message.
  const all = rules.length === 0 ? [NO_MESSAGE] : rules;
  return { ...entity, Rules: all.map(ruleOf) };
}

const NO_MESSAGE: RuleInput = { name: DEFAULT_RULE_NAME, filter: { kind: 'false' } };

function ruleOf({ name, filter, action }: RuleInput) {
  return {
    Name: name,
    Properties: {
      ...filterOf(filter),
      ...(action === undefined ? {} : { Action: expressionOf(action) }),
    },
  };
}

function filterOf(filter: Filter) {
  switch (filter.kind) {
    case 'true':
      return { FilterType: 'Sql', SqlFilter: { SqlExpression: TRUE_TEXT } };
    case 'false':
      return { FilterType: 'Sql', SqlFilter: { SqlExpression: FALSE_TEXT } };
    case 'sql':
      return { FilterType: 'Sql', SqlFilter: expressionOf(filter) };
    case 'correlation': {
      const { kind: _, properties, ...system } = filter;
      const conditions = Object.entries(system).map(([name, text]) => [fileName(name), text]);
      return {
        FilterType: 'Correlation',
        CorrelationFilter: {
          ...Object.fromEntries(conditions),
          ...valuesOf('Properties', properties),
        },
      };
    }
  }
}

function expressionOf({ expression, parameters }: RuleAction) {
  return { SqlExpression: expression, ...valuesOf('Parameters', parameters) };
}

function valuesOf(name: string, values: Properties) {
  const entries = Object.entries(values).map(
    ([key, value]) => [key, writtenRuleValue(value)] as const,
  );
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}
