import { childOf, listOf, textOf, type XmlNode } from '../client/atom-xml.ts';
import { type Described, list, typeOf } from '../client/management.ts';
import {
  CONFIG_SETTINGS,
  CORRELATION_FIELDS,
  type ConfigKind,
  type EntityProperties,
  type RuleConfig,
  type SubscriptionConfig,
  type TopicConfig,
} from '../client/namespace-config.ts';
import type { Context } from './context.ts';

/** Reads the entities of the namespace, and tells what the file cannot hold. */
export async function exportEntities(context: Context) {
  const { client } = context;
  const Queues = [];
  for await (const queue of list(client, '$Resources/Queues')) {
    Queues.push({ Name: queue.title, Properties: settingsOf(queue, 'QueueDescription') });
  }
  const Topics: TopicConfig[] = [];
  for await (const topic of list(client, '$Resources/Topics')) {
    const Subscriptions: SubscriptionConfig[] = [];
    for await (const subscription of list(client, `${topic.title}/Subscriptions`)) {
      Subscriptions.push({
        Name: subscription.title,
        Properties: settingsOf(subscription, 'SubscriptionDescription'),
        Rules: await rulesOf(context, `${topic.title}/Subscriptions/${subscription.title}`),
      });
    }
    const Properties = settingsOf(topic, 'TopicDescription');
    Topics.push({ Name: topic.title, Properties, Subscriptions });
  }
  const Namespaces = [{ Name: 'sbemulatorns', Queues, Topics }];
  return { UserConfig: { Namespaces, Logging: { Type: 'File' } } };
}

async function rulesOf(context: Context, path: string): Promise<readonly RuleConfig[]> {
  const rules: RuleConfig[] = [];
  for await (const rule of list(context.client, `${path}/Rules`)) {
    rules.push({ Name: rule.title, Properties: await ruleOf(context, path, rule) });
  }
  if (rules.length === 0) {
    await context.warn(
      `${path} has no rules and so gets no messages; a subscription of the file without rules gets all.`,
    );
  }
  return rules;
}

async function ruleOf(
  context: Context,
  path: string,
  { title, description }: Described,
): Promise<RuleConfig['Properties']> {
  const filter = childOf(description, 'Filter') ?? {};
  const action = childOf(description, 'Action') ?? {};
  if (hasParameters(filter) || hasParameters(action)) {
    await context.warn(`The parameters of the rule ${title} of ${path} are not in the file.`);
  }
  const expression = textOf(action, 'SqlExpression');
  const Action = expression === undefined ? {} : { Action: { SqlExpression: expression } };
  if (typeOf(filter) !== 'CorrelationFilter') {
    const SqlExpression = textOf(filter, 'SqlExpression') ?? '1=1';
    return { FilterType: 'Sql', SqlFilter: { SqlExpression }, ...Action };
  }
  const fields = CORRELATION_FIELDS.flatMap((name) => {
    const text = textOf(filter, name);
    return text === undefined ? [] : [[name, text] as const];
  });
  const custom = propertiesOf(filter);
  return {
    FilterType: 'Correlation',
    CorrelationFilter: {
      ...Object.fromEntries(fields),
      ...(custom.length > 0 ? { Properties: Object.fromEntries(custom) } : {}),
    },
    ...Action,
  };
}

function hasParameters(node: XmlNode): boolean {
  return listOf(childOf(node, 'Parameters') ?? {}, 'KeyValueOfstringanyType').length > 0;
}

function propertiesOf(filter: XmlNode): readonly (readonly [string, unknown])[] {
  const pairs = listOf(childOf(filter, 'Properties') ?? {}, 'KeyValueOfstringanyType');
  return pairs.map((pair) => {
    const type = typeOf(childOf(pair, 'Value')).replace(/^.*:/, '');
    return [textOf(pair, 'Key') ?? '', propertyValue(type, textOf(pair, 'Value') ?? '')];
  });
}

/** JSON knows numbers and booleans; a value of another type is a text in the file. */
function propertyValue(type: string, text: string): unknown {
  if (type === 'boolean') return text === 'true';
  return (type === 'int' || type === 'double') && Number.isFinite(Number(text))
    ? Number(text)
    : text;
}

/** The settings of a description that the file has. */
export function settingsOf({ description }: Described, kind: ConfigKind): EntityProperties {
  const settings = CONFIG_SETTINGS[kind].flatMap((name) => {
    const text = textOf(description, name);
    return text === undefined ? [] : [[name, settingOf(name, text)] as const];
  });
  return Object.fromEntries(settings);
}

function settingOf(name: string, text: string): string | number | boolean {
  if (name === 'MaxDeliveryCount') return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  // A destination is an address in a description, and a name in the file.
  return name.startsWith('Forward')
    ? decodeURIComponent(text.replace(/^\w+:\/\/[^/]*\//, ''))
    : text;
}
