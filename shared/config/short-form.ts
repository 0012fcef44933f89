import { shown } from '../domain/fault-words.ts';
import { Faults } from './faults.ts';
import { Fields, memberPath, type Placed, placedList } from './fields.ts';
import type { RawEntity, RawNamespace, RawRule } from './raw-entity.ts';
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
          ...namedIn(root, 'queues').flatMap((one) => readEntity(one, 'queue', [])),
          ...namedIn(root, 'topics').flatMap((one) => readTopic(one)),
        ];
  return { entities, spelling: { spell: (name) => name, rightsName: 'accessRights' }, faults };
}

/** A member of a list or record with its name. Only a name: its settings are all defaults. */
interface Named extends Placed {
  readonly name: string;
  readonly nameAt: string;
  readonly parent: Fields;
}

/** The members of a list of names and objects with names, or of a record by name. */
function namedIn(parent: Fields, list: string): readonly Named[] {
  const value = parent.get(list);
  const at = parent.pathOf(list);
  if (value === undefined) return [];
  if (Array.isArray(value)) return placedList(value, at).flatMap((one) => withName(one, parent));
  const record = Fields.of(value, at, parent.faults, 'a list, or an object by name');
  return [...(record?.members ?? [])].map(([name, member]) => {
    const memberAt = memberPath(at, name);
    return { name, nameAt: memberAt, at: memberAt, value: member, parent };
  });
}

function withName({ value, at }: Placed, parent: Fields): readonly Named[] {
  if (typeof value === 'string') return [{ name: value, nameAt: at, at, value: {}, parent }];
  const fields = Fields.of(value, at, parent.faults, 'a name, or an object with a name');
  const name = fields?.requiredText('name');
  if (fields === undefined || name === undefined) return [];
  return [{ name, nameAt: fields.pathOf('name'), at, value, parent }];
}

function readTopic(one: Named): readonly RawEntity[] {
  const topic = readEntity(one, 'topic', ['subscriptions']);
  const { value, at, parent } = one;
  // Another value than an object has its fault already.
  if (topic.length === 0) return [];
  const fields = Fields.of(value, at, parent.faults);
  const subscriptions = fields === undefined ? [] : namedIn(fields, 'subscriptions');
  return [
    ...topic,
    ...subscriptions.flatMap((each) => readEntity(each, 'subscription', ['rules'], one.name)),
  ];
}

function readEntity(
  { name, nameAt, at, value, parent }: Named,
  kind: EntityKind,
  lists: readonly string[],
  topic?: string,
): readonly RawEntity[] {
  const fields = Fields.of(value, at, parent.faults, `an object with settings of a ${kind}`);
  if (fields === undefined) return [];
  const known = Object.keys(SETTINGS[kind]);
  fields.requireKnown(['name', ...known, ...lists]);
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
    },
  ];
}

function requireSameName(fields: Fields, name: string): void {
  const given = fields.get('name');
  if (given === undefined || given === name) return;
  fields.faults.add(
    fields.pathOf('name'),
    `It must be ${shown(name)}, as its key, not ${shown(given)}.`,
  );
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
