import { shown } from '../domain/fault-words.ts';
import { Fields, type Placed } from './fields.ts';
import type { RawCorrelation, RawExpression, RawRule, RawValues } from './raw-entity.ts';

/** The conditions of a correlation filter by the domain's names: the first name is the file's, the second ours. */
const CONDITIONS = {
  contentType: ['ContentType', 'contentType'],
  correlationId: ['CorrelationId', 'correlationId'],
  label: ['Label', 'subject'],
  messageId: ['MessageId', 'messageId'],
  replyTo: ['ReplyTo', 'replyTo'],
  replyToSessionId: ['ReplyToSessionId', 'replyToSessionId'],
  sessionId: ['SessionId', 'sessionId'],
  to: ['To', 'to'],
} as const;

/** The conditions of a correlation filter by the names of the short form, from those of the domain. */
export function correlationNames(
  system: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const names: Readonly<Record<string, readonly string[]>> = CONDITIONS;
  return Object.fromEntries(
    Object.entries(system).map(([field, text]) => [names[field]?.[OURS] ?? field, text]),
  );
}

const TYPES = ['Sql', 'Correlation'];
const FILE = 0;
const OURS = 1;

/** Reads a rule of the vendor's file; undefined, with a fault, if it has no name or is no object. */
export function readFileRule(fields: Fields): RawRule | undefined {
  fields.requireKnown(['Name', 'Properties']);
  const name = fields.requiredText('Name');
  const properties = fields.object('Properties');
  if (properties === undefined)
    fields.faults.add(fields.at, 'The Properties are missing: add them.');
  if (name === undefined || properties === undefined) return undefined;
  properties.requireKnown(
    ['FilterType', 'SqlFilter', 'CorrelationFilter', 'Action'],
    conditionHint('CorrelationFilter', FILE),
  );
  const type = filterType(properties);
  const rule = { at: fields.at, nameAt: fields.pathOf('Name'), name };
  const filter = type === undefined ? undefined : properties.object(`${type}Filter`);
  const action = properties.object('Action');
  const sql = type === 'Sql' && filter ? fileExpression(filter) : undefined;
  return {
    ...rule,
    filterAt: sql?.at ?? filter?.at ?? properties.at,
    ...part('sql', sql),
    ...part('correlation', type === 'Correlation' && filter && correlation(filter, FILE)),
    ...part('action', action && fileExpression(action)),
  };
}

/** The type of a rule's filter, which the only filter tells as well. Notes a fault if they differ. */
function filterType(properties: Fields): string | undefined {
  const given = TYPES.filter((type) => properties.get(`${type}Filter`) !== undefined);
  const type = properties.text('FilterType') ?? (given.length === 1 ? given[0] : undefined);
  const { faults } = properties;
  if (type === undefined || !TYPES.includes(type)) {
    const found = type === undefined ? 'is missing' : `is ${shown(type)}`;
    faults.add(
      properties.pathOf('FilterType'),
      `The type ${found}; it must be "Sql" or "Correlation".`,
    );
    return undefined;
  }
  for (const other of given.filter((one) => one !== type)) {
    faults.add(
      properties.pathOf(`${other}Filter`),
      `A rule has one filter, and its FilterType is "${type}": remove this one, or change the type.`,
    );
  }
  if (given.includes(type)) return type;
  faults.add(properties.at, `The ${type}Filter is missing: add it.`);
  return undefined;
}

function fileExpression(fields: Fields): RawExpression | undefined {
  fields.requireKnown([
    'SqlExpression',
    'Parameters',
    'CompatibilityLevel',
    'RequiresPreprocessing',
  ]);
  const text = fields.requiredText('SqlExpression');
  if (text === undefined) return undefined;
  const at = fields.pathOf('SqlExpression');
  return { at, text, parameters: values(fields.object('Parameters')) };
}

/** Reads a rule of the short form, whose name is known. A text is an SQL filter. */
export function readOwnRule(
  name: string,
  nameAt: string,
  { value, at }: Placed,
  parent: Fields,
): RawRule | undefined {
  const { faults } = parent;
  const rule = { at, nameAt, name, filterAt: at };
  if (typeof value === 'string')
    return { ...rule, sql: { at, text: value, parameters: new Map() } };
  const fields = Fields.of(value, at, faults, 'an SQL filter or an object');
  if (fields === undefined) return undefined;
  fields.requireKnown(['name', 'sql', 'correlation', 'action'], conditionHint('correlation', OURS));
  const filter = fields.object('correlation');
  const sql = ownExpression(fields, 'sql');
  const action = part('action', ownExpression(fields, 'action'));
  if (filter !== undefined && sql !== undefined) {
    faults.add(at, 'A rule has one filter: remove sql or correlation.');
    // Which of them is meant is not known, so neither is checked.
    return { ...rule, ...action };
  }
  return {
    ...rule,
    filterAt: sql?.at ?? filter?.at ?? at,
    ...part('sql', sql),
    ...part('correlation', filter && correlation(filter, OURS)),
    ...action,
  };
}

function ownExpression(parent: Fields, name: string): RawExpression | undefined {
  const value = parent.get(name);
  const at = parent.pathOf(name);
  if (value === undefined) return undefined;
  if (typeof value === 'string') return { at, text: value, parameters: new Map() };
  const fields = Fields.of(value, at, parent.faults, 'a text or an object with an expression');
  fields?.requireKnown(['expression', 'parameters']);
  const text = fields?.requiredText('expression');
  if (fields === undefined || text === undefined) return undefined;
  return {
    at: fields.pathOf('expression'),
    text,
    parameters: values(fields.object('parameters')),
  };
}

/** What to say about a condition of a correlation filter that is beside the filter. */
function conditionHint(filter: string, form: typeof FILE | typeof OURS) {
  const names: readonly string[] = Object.values(CONDITIONS).map((both) => both[form]);
  return (name: string) =>
    names.includes(name)
      ? `It is a condition of a correlation filter: move it into ${filter}.`
      : undefined;
}

function correlation(fields: Fields, form: typeof FILE | typeof OURS): RawCorrelation {
  const list = form === FILE ? 'Properties' : 'properties';
  const names = Object.entries(CONDITIONS).map(([field, both]) => [field, both[form]] as const);
  const { count } = fields.faults;
  fields.requireKnown([...names.map(([, name]) => name), list]);
  const system = names.flatMap(([field, name]) => {
    const text = fields.text(name);
    return text ? [[field, text] as const] : [];
  });
  const properties = values(fields.object(list));
  const isFaulty = fields.faults.count > count;
  return { system: Object.fromEntries(system), properties, isFaulty };
}

function values(fields: Fields | undefined): RawValues {
  const members = [...(fields?.members ?? [])];
  return new Map(
    members.map(([name, value]) => [name, { value, at: fields?.pathOf(name) ?? name }]),
  );
}

/** A member of an object, or none where it is absent. */
function part<Name extends string, T>(name: Name, value: T | undefined | false) {
  return (value ? { [name]: value } : {}) as { readonly [Key in Name]?: T };
}
