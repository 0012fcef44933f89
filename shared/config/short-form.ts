import { Faults } from './faults.ts';
import { Fields, memberPath, type Placed, placedList } from './fields.ts';
import type { RawEntity, RawNamespace, RawRule, Spelling } from './raw-entity.ts';
import { readConsumers, requireSameName } from './read-consumers.ts';
import { readOwnRule } from './read-rule.ts';
import { type EntityKind, SETTINGS } from './setting-table.ts';

/** Reads the short form of a description. Its faults are noted; the values of settings are not read yet. */
export function readShortForm(value: unknown): RawNamespace {
  const faults = new Faults();
  const root = Fields.of(value, '', faults, 'an object with queues, topics or both');
  root?.requireKnown(['queues', 'topics', '$schema']);
  const entities: readonly RawEntity[] =
    root === undefined
      ? []
      : [
          ...namedIn(root, 'queues').flatMap((one) => readEntity(one, 'queue', CONSUMERS)),
          ...namedIn(root, 'topics').flatMap((one) => readTopic(one)),
        ];
  return { entities, spelling: SHORT_SPELLING, faults };
}

/** The members of queues and subscriptions that are no settings. An entity apart from any list has none of them. */
const CONSUMERS = ['consumers'] as const;
const OF_SUBSCRIPTIONS = 'A topic has no consumers: give them to its subscriptions.';

/** How the short form spells names. */
export const SHORT_SPELLING: Spelling = { spell: (name) => name, rightsName: 'accessRights' };

/** An entity in the short form, apart from any list. */
export interface LoneEntity {
  readonly kind: EntityKind;
  /** Of a subscription: its name within its topic. */
  readonly name: string;
  /** The name of a subscription's topic. */
  readonly topic?: string | undefined;
  /** Its settings, and the rules of a subscription. */
  readonly value: unknown;
}

/** Reads one entity; undefined if it is no object. Faults are noted, with paths such as `lockDuration`. */
export function readLoneEntity(
  { kind, name, topic, value }: LoneEntity,
  faults: Faults,
): RawEntity | undefined {
  const lists = kind === 'subscription' ? ['rules'] : [];
  const [entity] = readEntity({ name, nameAt: 'name', at: '', value, faults }, kind, lists, topic);
  return entity;
}

/** A member of a list or record with its name. Only a name: its settings are all defaults. */
interface Named extends Placed {
  readonly name: string;
  readonly nameAt: string;
  readonly faults: Faults;
}

/** The members of a list of names and objects with names, or of a record by name. */
function namedIn(parent: Fields, list: string): readonly Named[] {
  const value = parent.get(list);
  const at = parent.pathOf(list);
  if (value === undefined) return [];
  if (Array.isArray(value))
    return placedList(value, at).flatMap((one) => withName(one, parent.faults));
  const record = Fields.of(value, at, parent.faults, 'a list, or an object by name');
  return [...(record?.members ?? [])].map(([name, member]) => {
    const memberAt = memberPath(at, name);
    return { name, nameAt: memberAt, at: memberAt, value: member, faults: parent.faults };
  });
}

function withName({ value, at }: Placed, faults: Faults): readonly Named[] {
  if (typeof value === 'string') return [{ name: value, nameAt: at, at, value: {}, faults }];
  const fields = Fields.of(value, at, faults, 'a name, or an object with a name');
  const name = fields?.requiredText('name');
  if (fields === undefined || name === undefined) return [];
  return [{ name, nameAt: fields.pathOf('name'), at, value, faults }];
}

function readTopic(one: Named): readonly RawEntity[] {
  const topic = readEntity(one, 'topic', ['subscriptions']);
  const { value, at, faults } = one;
  // Another value than an object has its fault already.
  if (topic.length === 0) return [];
  const fields = Fields.of(value, at, faults);
  const subscriptions = fields === undefined ? [] : namedIn(fields, 'subscriptions');
  return [
    ...topic,
    ...subscriptions.flatMap((each) =>
      readEntity(each, 'subscription', ['rules', ...CONSUMERS], one.name),
    ),
  ];
}

function readEntity(
  { name, nameAt, at, value, faults }: Named,
  kind: EntityKind,
  lists: readonly string[],
  topic?: string,
): readonly RawEntity[] {
  const fields = Fields.of(value, at, faults, `an object with settings of a ${kind}`);
  if (fields === undefined) return [];
  const known = Object.keys(SETTINGS[kind]);
  fields.requireKnown(['name', ...known, ...lists], (member) =>
    kind === 'topic' && member === 'consumers' ? OF_SUBSCRIPTIONS : undefined,
  );
  requireSameName(fields, name);
  const settings = new Map<string, Placed>();
  for (const setting of known) {
    const found = fields.get(setting);
    if (found !== undefined) settings.set(setting, { at: fields.pathOf(setting), value: found });
  }
  const rules = kind === 'subscription' ? rulesOf(fields) : [];
  return [
    {
      kind,
      at,
      nameAt,
      name,
      settings,
      ...(topic === undefined ? {} : { topic }),
      ...(rules.length === 0 ? {} : { rules }),
      ...(lists.includes('consumers') ? readConsumers(fields) : {}),
    },
  ];
}

function rulesOf(fields: Fields): readonly RawRule[] {
  const value = fields.get('rules');
  if (!Array.isArray(value)) {
    return namedIn(fields, 'rules').flatMap(
      (one) => readOwnRule(one.name, one.nameAt, one, fields) ?? [],
    );
  }
  return placedList(value, fields.pathOf('rules')).flatMap((one) => {
    const rule = Fields.of(one.value, one.at, fields.faults, 'an object with a name');
    const name = rule?.requiredText('name');
    if (rule === undefined || name === undefined) return [];
    return readOwnRule(name, rule.pathOf('name'), one, fields) ?? [];
  });
}
