import { childOf, textOf } from '../../../client/atom-xml.ts';
import { descriptionJson } from '../../../client/description-json.ts';
import { readPath, subscriptionOf } from '../../../client/entity-path.ts';
import { countsOf, type Described, describe, list, typeOf } from '../../../client/management.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT } from '../io.ts';
import { type Column, shortened, sizeText, tableOf } from '../table.ts';

const ENTITY_COLUMNS: readonly Column[] = [
  { title: 'KIND' },
  { title: 'PATH' },
  { title: 'ACTIVE', isNumber: true },
  { title: 'DEAD LETTER', isNumber: true },
  { title: 'SCHEDULED', isNumber: true },
  { title: 'SIZE', isNumber: true },
  { title: 'STATUS' },
];
const RULE_COLUMNS: readonly Column[] = [
  { title: 'RULE' },
  { title: 'FILTER' },
  { title: 'ACTION' },
];
const EXPRESSION_LENGTH = 80;

/** An entity or rule of the list, with its path. */
interface Listed {
  readonly path: string;
  readonly entry: Described;
}

/** Lists the entities of the namespace, the subscriptions of a topic, or the rules of a subscription. */
export const runList: RunCommand<CommonOptions> = async (io, [pathText], options) => {
  const path = pathText === undefined ? undefined : readPath(pathText);
  if (path !== undefined && path.subQueue !== 'main') {
    throw new UsageError(`A dead-letter queue has nothing to list; list ${path.entity}.`);
  }
  const context = connect(io, options);
  if (path !== undefined && subscriptionOf(path.entity) !== undefined) {
    await print(
      context,
      await collect(context, `${path.entity}/Rules`, `${path.entity}/rules`),
      ruleTable,
    );
    return EXIT.done;
  }
  const listed =
    path === undefined ? await namespaceList(context) : await entityList(context, path.entity);
  await print(context, listed, entityTable);
  if (listed.length === 0) await context.note('The namespace has no entities.');
  if (listed.some(({ entry }) => entry.hasEstimates)) {
    await context.note('A number with ~ before it is an estimate.');
  }
  return EXIT.done;
};

async function print(
  context: Context,
  listed: readonly Listed[],
  table: (listed: readonly Listed[]) => string,
): Promise<void> {
  if (!context.isJson && listed.length === 0) return;
  const json = listed.map(({ path, entry }) => ({
    path,
    kind: kindOf(entry),
    ...Object.assign({}, descriptionJson(entry.description)),
    ...(entry.hasEstimates ? { countsAreEstimates: true } : {}),
  }));
  await context.print(table(listed), json);
}

async function namespaceList(context: Context): Promise<readonly Listed[]> {
  const queues = await collect(context, '$Resources/Queues', '');
  const topics = await collect(context, '$Resources/Topics', '');
  const all: Listed[] = [...queues];
  for (const topic of topics) all.push(topic, ...(await subscriptionsOf(context, topic.path)));
  return all;
}

async function entityList(context: Context, path: string): Promise<readonly Listed[]> {
  const entry = await describe(context.client, path);
  if (entry === undefined) return [];
  if (entry.kind !== 'TopicDescription') return [{ path, entry }];
  return await subscriptionsOf(context, path);
}

function subscriptionsOf(context: Context, topic: string): Promise<readonly Listed[]> {
  return collect(context, `${topic}/Subscriptions`, `${topic}/subscriptions`);
}

/** `prefix` = the path of what contains the entries; empty for the namespace. */
async function collect(
  { client }: Context,
  feed: string,
  prefix: string,
): Promise<readonly Listed[]> {
  const listed: Listed[] = [];
  for await (const entry of list(client, feed)) {
    listed.push({ path: prefix === '' ? entry.title : `${prefix}/${entry.title}`, entry });
  }
  return listed;
}

function entityTable(listed: readonly Listed[]): string {
  const rows = listed.map(({ path, entry }) => {
    const { active, deadLetter, scheduled } = countsOf(entry);
    const kind = kindOf(entry);
    const text = (count: number) => (entry.hasEstimates ? `~${count}` : String(count));
    // The messages of a topic are in its subscriptions; only scheduled ones are in the topic itself.
    const counts =
      kind === 'topic' ? ['', '', text(scheduled)] : [active, deadLetter, scheduled].map(text);
    const size = textOf(entry.description, 'SizeInBytes');
    return [
      kind,
      path,
      ...counts,
      size === undefined ? '' : sizeText(Number(size)),
      textOf(entry.description, 'Status') ?? '',
    ];
  });
  return tableOf(ENTITY_COLUMNS, rows);
}

function kindOf({ kind }: Described): string {
  return kind.replace(/Description$/, '').toLowerCase();
}

function ruleTable(listed: readonly Listed[]): string {
  return tableOf(
    RULE_COLUMNS,
    listed.map(({ entry }) => {
      const action = childOf(entry.description, 'Action');
      const expression = action === undefined ? undefined : textOf(action, 'SqlExpression');
      return [
        entry.title,
        shortened(filterText(entry), EXPRESSION_LENGTH),
        shortened(expression ?? '', EXPRESSION_LENGTH),
      ];
    }),
  );
}

function filterText({ description }: Described): string {
  const filter = childOf(description, 'Filter') ?? {};
  if (typeOf(filter) !== 'CorrelationFilter') return textOf(filter, 'SqlExpression') ?? '';
  const json: unknown = descriptionJson(filter);
  const {
    Type: _,
    Properties: properties,
    ...fields
  } = Object.assign({ Type: '', Properties: {} }, json);
  const custom = Object.assign({ KeyValueOfstringanyType: [] }, properties).KeyValueOfstringanyType;
  const pairs = custom.map(({ Key, Value }: Readonly<Record<string, unknown>>) => {
    const plain = Object.assign({ Value: '' }, Value).Value;
    return [String(Key), plain];
  });
  return [...Object.entries(fields), ...pairs].map(([name, value]) => `${name}=${value}`).join(' ');
}
