import { Faults } from '../../shared/config/faults.ts';
import { Fields, type Placed } from '../../shared/config/fields.ts';
import type { RawEntity, RawNamespace } from '../../shared/config/raw-entity.ts';
import { readFileConsumers } from '../../shared/config/read-consumers.ts';
import { readFileRule } from '../../shared/config/read-rule.ts';
import { type EntityKind, fileName, SETTINGS } from '../../shared/config/setting-table.ts';

/** Reads the form of the vendor's file. Its faults are noted; the values of settings are not read yet. */
export function readEmulatorFile(value: unknown): RawNamespace {
  const faults = new Faults();
  const root = Fields.of(value, '', faults, 'an object with a UserConfig');
  root?.requireKnown(['UserConfig', '$schema']);
  const config = root?.object('UserConfig');
  if (root !== undefined && root.get('UserConfig') === undefined) {
    faults.add('', 'The UserConfig is missing: add it.');
  }
  config?.requireKnown(['Namespaces', 'Logging']);
  const namespace = config && onlyNamespace(config);
  const spelling = { spell: fileName, rightsName: 'Rights' };
  return { entities: namespace === undefined ? [] : entitiesOf(namespace), spelling, faults };
}

function onlyNamespace(config: Fields): Fields | undefined {
  const list = config.list('Namespaces');
  const [first] = list;
  if (first !== undefined && list.length === 1) {
    return Fields.of(first.value, first.at, config.faults);
  }
  config.faults.add(
    config.pathOf('Namespaces'),
    list.length === 0
      ? 'A file has exactly one namespace, and this one has none: add it.'
      : `A file has exactly one namespace, not ${list.length}: keep one, and start a server of its own for each other.`,
  );
  return undefined;
}

function entitiesOf(namespace: Fields): readonly RawEntity[] {
  namespace.requireKnown(['Name', 'Queues', 'Topics']);
  namespace.text('Name');
  return [
    ...objectsOf(namespace, 'Queues').flatMap((fields) =>
      readEntity(fields, 'queue', ['Consumers']),
    ),
    ...objectsOf(namespace, 'Topics').flatMap((fields) => [
      ...readEntity(fields, 'topic', ['Subscriptions']),
      ...objectsOf(fields, 'Subscriptions').flatMap((each) =>
        readEntity(each, 'subscription', ['Rules', 'Consumers'], topicName(fields)),
      ),
    ]),
  ];
}

/** A topic without a name has a fault of its own, so its subscriptions need no other. */
function topicName(topic: Fields): string {
  const name = topic.get('Name');
  return typeof name === 'string' ? name : '';
}

/** Reads an entity, and nothing, with a fault, where it has no name. */
function readEntity(
  fields: Fields,
  kind: EntityKind,
  lists: readonly string[],
  topic?: string,
): readonly RawEntity[] {
  const known = Object.keys(SETTINGS[kind]);
  fields.requireKnown(['Name', 'Properties', ...lists], (name) =>
    known.some((each) => fileName(each) === name)
      ? `It is a property of a ${kind}: move it into the Properties.`
      : undefined,
  );
  const name = fields.requiredText('Name');
  const properties = fields.object('Properties');
  properties?.requireKnown(known.map(fileName));
  const rules =
    kind === 'subscription'
      ? objectsOf(fields, 'Rules').flatMap((each) => readFileRule(each) ?? [])
      : [];
  if (name === undefined) return [];
  return [
    {
      kind,
      at: fields.at,
      nameAt: fields.pathOf('Name'),
      name,
      settings: settingsOf(properties, known),
      ...(topic === undefined ? {} : { topic }),
      ...(rules.length === 0 ? {} : { rules }),
      ...(lists.includes('Consumers') ? readFileConsumers(fields) : {}),
    },
  ];
}

function settingsOf(
  properties: Fields | undefined,
  known: readonly string[],
): ReadonlyMap<string, Placed> {
  const settings = new Map<string, Placed>();
  for (const name of known) {
    const value = properties?.get(fileName(name));
    if (properties === undefined || value === undefined) continue;
    settings.set(name, { at: properties.pathOf(fileName(name)), value });
  }
  return settings;
}

function objectsOf(fields: Fields, name: string): readonly Fields[] {
  return fields.list(name).flatMap(({ value, at }) => Fields.of(value, at, fields.faults) ?? []);
}
