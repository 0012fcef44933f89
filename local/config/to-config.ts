import { formatDuration, parseDuration } from '../../shared/domain/duration.ts';
import {
  type EntityDescription,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { destinationName } from '../../shared/domain/entities/forwarding-settings.ts';
import { DEFAULT_RULE_NAME } from '../../shared/domain/entities/rule-name.ts';
import { present } from '../../shared/domain/present.ts';
import {
  ALWAYS_WRITTEN,
  type EntityKind,
  fileName,
  SETTINGS,
  type Setting,
} from './setting-table.ts';

/** The value of a property or parameter of a rule. */
export type ExportedValue = string | number | boolean | Date;

/**
 * A queue, or another entity without what is in it, by the names of its ATOM description. Values are texts, as in XML,
 * or parsed. `AuthorizationRules` is a list of objects with `KeyName`, `Rights` and the keys. What is no setting, such
 * as `CreatedAt`, is ignored.
 */
export interface ExportedEntity {
  readonly Name: string;
  readonly [property: string]: unknown;
}

/** A topic with its subscriptions. */
export interface ExportedTopic extends ExportedEntity {
  readonly Subscriptions: readonly ExportedSubscription[];
}

/** A subscription with its rules. */
export interface ExportedSubscription extends ExportedEntity {
  readonly Rules: readonly ExportedRule[];
}

/** A rule. `Type` is the `i:type` of its filter. */
export interface ExportedRule {
  readonly Name: string;
  readonly Filter: ExportedFilter;
  /** Absent = an EmptyRuleAction. */
  readonly Action?: ExportedExpression | undefined;
}

/** An SQL expression with its parameters. */
export interface ExportedExpression {
  readonly SqlExpression: string;
  readonly Parameters?: Readonly<Record<string, ExportedValue>> | undefined;
}

/** A filter. */
export type ExportedFilter =
  | { readonly Type: 'TrueFilter' | 'FalseFilter' }
  | ({ readonly Type: 'SqlFilter' } & ExportedExpression)
  | ({
      readonly Type: 'CorrelationFilter';
      readonly Properties?: Readonly<Record<string, ExportedValue>> | undefined;
    } & { readonly [Condition in CorrelationCondition]?: string | undefined });

type CorrelationCondition =
  | 'ContentType'
  | 'CorrelationId'
  | 'Label'
  | 'MessageId'
  | 'ReplyTo'
  | 'ReplyToSessionId'
  | 'SessionId'
  | 'To';

/** The entities of a namespace. */
export interface ExportedNamespace {
  readonly Queues: readonly ExportedEntity[];
  readonly Topics: readonly ExportedTopic[];
}

/** The name that the vendor's emulator requires. */
const NAMESPACE = 'sbemulatorns';

/**
 * The file of the vendor's emulator for entities, as an object to print as JSON, which `parseConfig` reads. Settings
 * that have their defaults are left out, except those that the vendor's file always has. The keys of shared access
 * policies are in it. Throws ArgumentError for a duration or address that cannot be read.
 */
export function toConfig({ Queues, Topics }: ExportedNamespace): Readonly<Record<string, unknown>> {
  const namespace = {
    Name: NAMESPACE,
    Queues: Queues.map((queue) => entityOf('queue', queue)),
    Topics: Topics.map((topic) => ({
      ...entityOf('topic', topic),
      Subscriptions: topic.Subscriptions.map(subscriptionOf),
    })),
  };
  return { UserConfig: { Namespaces: [namespace], Logging: { Type: 'File' } } };
}

const DEFAULTS: Readonly<Record<EntityKind, EntityDescription>> = {
  queue: QUEUE_DEFAULTS,
  topic: TOPIC_DEFAULTS,
  subscription: SUBSCRIPTION_DEFAULTS,
};

function entityOf(kind: EntityKind, entity: ExportedEntity) {
  const defaults = new Map<string, unknown>(Object.entries(DEFAULTS[kind]));
  const properties = Object.entries(SETTINGS[kind]).flatMap(([setting, { field, form }]) => {
    const name = fileName(setting);
    const common = written(form, defaults.get(field));
    const value = parsed(form, entity[name]) ?? common;
    const isWritten = ALWAYS_WRITTEN[kind].includes(setting) || isOther(value, common);
    return isWritten ? [[name, value] as const] : [];
  });
  return { Name: entity.Name, Properties: Object.fromEntries(properties) };
}

function isOther(value: unknown, common: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== common;
}

/** A default as the file has it. */
function written(form: Setting['form'], value: unknown): unknown {
  switch (form) {
    case 'duration':
    case 'unlimitedDuration':
      return formatDuration(typeof value === 'number' ? value : undefined);
    case 'destination':
    case 'text':
      return value ?? '';
    default:
      return value;
  }
}

/** A value of an ATOM description as the file has it; undefined = absent. */
function parsed(form: Setting['form'], value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  switch (form) {
    case 'duration':
    case 'unlimitedDuration':
      return formatDuration(parseDuration(String(value), 'the duration'));
    case 'destination':
      return destinationName(String(value), 'the destination');
    case 'boolean':
      return String(value) === 'true';
    case 'wholeNumber':
      return Number(value);
    default:
      return value;
  }
}

function subscriptionOf(subscription: ExportedSubscription) {
  const { Rules: rules } = subscription;
  const entity = entityOf('subscription', subscription);
  const [only] = rules;
  const isDefault =
    rules.length === 1 &&
    only?.Name.toLowerCase() === DEFAULT_RULE_NAME.toLowerCase() &&
    only.Filter.Type === 'TrueFilter' &&
    only.Action === undefined;
  if (isDefault) return entity;
  // A file has no form for a subscription without rules, which gets no message.
  const all = rules.length === 0 ? [NO_MESSAGE] : rules;
  return { ...entity, Rules: all.map(ruleOf) };
}

const NO_MESSAGE: ExportedRule = { Name: DEFAULT_RULE_NAME, Filter: { Type: 'FalseFilter' } };

function ruleOf({ Name, Filter, Action }: ExportedRule) {
  return {
    Name,
    Properties: {
      ...filterOf(Filter),
      ...(Action === undefined ? {} : { Action: expressionOf(Action) }),
    },
  };
}

function filterOf(filter: ExportedFilter) {
  switch (filter.Type) {
    case 'TrueFilter':
      return { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=1' } };
    case 'FalseFilter':
      return { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=0' } };
    case 'SqlFilter':
      return { FilterType: 'Sql', SqlFilter: expressionOf(filter) };
    case 'CorrelationFilter': {
      const { Type: _, Properties = {}, ...system } = filter;
      const properties = valuesOf('Properties', Properties);
      return {
        FilterType: 'Correlation',
        CorrelationFilter: { ...present(system), ...properties },
      };
    }
  }
}

function expressionOf({ SqlExpression, Parameters = {} }: ExportedExpression) {
  return { SqlExpression, ...valuesOf('Parameters', Parameters) };
}

/** An instant has no form in JSON, so the file has one of its own for it. */
function valuesOf(name: string, values: Readonly<Record<string, ExportedValue>>) {
  const entries = Object.entries(values).map(
    ([key, value]) =>
      [key, value instanceof Date ? { DateTime: value.toISOString() } : value] as const,
  );
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}
