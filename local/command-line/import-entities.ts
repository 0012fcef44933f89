import { SCHEMA, textElement } from '../client/atom-xml.ts';
import { RefusalError } from '../client/client-errors.ts';
import { create, type Described, describe, list, remove } from '../client/management.ts';
import {
  CORRELATION_FIELDS,
  type ConfigKind,
  type EntityProperties,
  type NamespaceConfig,
  type RuleConfig,
  type SubscriptionConfig,
} from '../client/namespace-config.ts';
import type { Context } from './context.ts';
import { settingsOf } from './export-entities.ts';

/** What an import of entities did. */
export interface ImportedEntities {
  readonly created: readonly string[];
  readonly existing: readonly string[];
  /** What exists with other settings, each as a sentence. */
  readonly different: readonly string[];
}

/** The names of the rule that a new subscription has, if it is created without another one. */
const DEFAULT_RULE = '$Default';

/**
 * Creates the entities of a file that the namespace lacks, and changes none that exist. Entities come before those that
 * forward to them as far as the order queues, topics, subscriptions does that. Throws RefusalError, UnreachableError.
 */
export async function importEntities(
  context: Context,
  { Queues, Topics }: NamespaceConfig,
): Promise<ImportedEntities> {
  const work = new EntityImport(context);
  for (const { Name, Properties } of inOrderOfForwarding(Queues)) {
    await work.entity(Name, 'QueueDescription', Properties);
  }
  for (const { Name, Properties } of Topics)
    await work.entity(Name, 'TopicDescription', Properties);
  for (const topic of Topics) {
    for (const subscription of topic.Subscriptions) {
      await work.subscription(`${topic.Name}/Subscriptions/${subscription.Name}`, subscription);
    }
  }
  return work;
}

class EntityImport implements ImportedEntities {
  readonly created: string[] = [];
  readonly existing: string[] = [];
  readonly different: string[] = [];
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns whether the entity was created. */
  async entity(path: string, kind: ConfigKind, wanted: EntityProperties): Promise<boolean> {
    const { client } = this.#context;
    const found = await find(this.#context, path);
    if (found !== undefined) {
      this.#compare(path, kind, found, wanted);
      return false;
    }
    await create(client, path, kind, settingElements(wanted));
    this.created.push(path);
    return true;
  }

  async subscription(path: string, { Properties, Rules }: SubscriptionConfig): Promise<void> {
    const { client } = this.#context;
    const isNew = await this.entity(path, 'SubscriptionDescription', Properties);
    if (Rules.length === 0) return;
    if (isNew && !isDefault(Rules)) await remove(client, `${path}/Rules/${DEFAULT_RULE}`);
    const there = new Map<string, Described>();
    for await (const rule of list(client, `${path}/Rules`))
      there.set(rule.title.toLowerCase(), rule);
    for (const rule of Rules) {
      const rulePath = `${path}/Rules/${rule.Name}`;
      if (there.has(rule.Name.toLowerCase())) {
        if (!isNew) this.existing.push(rulePath);
        continue;
      }
      await create(client, rulePath, 'RuleDescription', ruleElements(rule));
      this.created.push(rulePath);
    }
  }

  #compare(path: string, kind: ConfigKind, found: Described, wanted: EntityProperties): void {
    this.existing.push(path);
    const settings = settingsOf(found, kind);
    for (const [name, value] of Object.entries(wanted)) {
      const now = settings[name] ?? '';
      if (comparable(now) === comparable(value)) continue;
      this.different.push(
        `${path} exists with ${name} ${now === '' ? 'not set' : now} in place of ${value}.`,
      );
    }
  }
}

/** Whether the rules of a new subscription are what it has anyway. */
function isDefault(rules: readonly RuleConfig[]): boolean {
  return rules.some(
    ({ Name, Properties }) =>
      Name === DEFAULT_RULE && Properties.SqlFilter?.SqlExpression === '1=1' && !Properties.Action,
  );
}

/** Durations have several spellings, and names no case. */
function comparable(value: string | number | boolean): string {
  const text = String(value).toLowerCase();
  const [, days, hours, minutes, seconds] =
    /^p(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?)?$/.exec(text) ?? [];
  if (!text.startsWith('p') || [days, hours, minutes, seconds].every((one) => one === undefined)) {
    return text;
  }
  const [d, h, m, s] = [days, hours, minutes, seconds].map((one) => Number(one ?? 0));
  return `${(((d ?? 0) * 24 + (h ?? 0)) * 60 + (m ?? 0)) * 60 + (s ?? 0)} seconds`;
}

/** Queues after the queues that they forward to; a circle keeps the order of the file. */
function inOrderOfForwarding(queues: NamespaceConfig['Queues']): NamespaceConfig['Queues'] {
  const ordered: NamespaceConfig['Queues'][number][] = [];
  let left = [...queues];
  while (left.length > 0) {
    const names = new Set(left.map(({ Name }) => Name.toLowerCase()));
    const free = left.filter(({ Properties: settings }) =>
      [settings['ForwardTo'], settings['ForwardDeadLetteredMessagesTo']].every(
        (to) => !names.has(String(to ?? '').toLowerCase()),
      ),
    );
    const next = free.length > 0 ? free : left;
    ordered.push(...next);
    left = left.filter((queue) => !next.includes(queue));
  }
  return ordered;
}

async function find({ client }: Context, path: string): Promise<Described | undefined> {
  try {
    return await describe(client, path);
  } catch (error) {
    if (error instanceof RefusalError && error.status === 404) return undefined;
    throw error;
  }
}

function settingElements(settings: EntityProperties): string {
  return Object.entries(settings)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => textElement(name, String(value)))
    .join('');
}

function ruleElements({ Name, Properties }: RuleConfig): string {
  const { FilterType, SqlFilter, CorrelationFilter = {}, Action } = Properties;
  const filter =
    FilterType === 'Sql'
      ? `<Filter i:type="SqlFilter">${textElement('SqlExpression', SqlFilter?.SqlExpression ?? '1=1')}</Filter>`
      : `<Filter i:type="CorrelationFilter">${correlationElements(CorrelationFilter)}</Filter>`;
  const action =
    Action === undefined
      ? ''
      : `<Action i:type="SqlRuleAction">${textElement('SqlExpression', Action.SqlExpression)}</Action>`;
  return `${filter}${action}${textElement('Name', Name)}`;
}

function correlationElements(filter: Readonly<Record<string, unknown>>): string {
  const fields = CORRELATION_FIELDS.flatMap((name) =>
    filter[name] === undefined ? [] : [textElement(name, String(filter[name]))],
  );
  const pairs = Object.entries(filter['Properties'] ?? {}).map(
    ([key, value]) =>
      `<KeyValueOfstringanyType>${textElement('Key', key)}${textElement('Value', String(value), ` i:type="d6p1:${xmlTypeOf(value)}" xmlns:d6p1="${SCHEMA}"`)}</KeyValueOfstringanyType>`,
  );
  return `${fields.join('')}<Properties>${pairs.join('')}</Properties>`;
}

function xmlTypeOf(value: unknown): string {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value !== 'number') return 'string';
  return (value | 0) === value ? 'int' : 'double';
}
