import { SUB_QUEUES, type SubQueue } from '../domain/entities/entity-path.ts';
import { listed, shown } from '../domain/fault-words.ts';
import { Fields, memberPath, type Placed, placedList } from './fields.ts';
import type { RawConsumer, RawEntity } from './raw-entity.ts';
import { CONSUMER_SETTINGS, fileName } from './setting-table.ts';

/** What a configuration says about the consumers of an entity; nothing where it does not mention them. */
export type RawConsumers = Pick<RawEntity, 'consumers' | 'consumersAt'>;

const KNOWN = Object.keys(CONSUMER_SETTINGS);

/**
 * Reads the member `consumers` of an entity in the short form: a list of objects with names, or a record by name, in
 * which a text is a target. Faults are noted.
 */
export function readConsumers(entity: Fields): RawConsumers {
  const value = entity.get('consumers');
  if (value === undefined) return {};
  const { faults } = entity;
  const consumersAt = entity.pathOf('consumers');
  const read = (member: unknown, at: string, given?: string): readonly RawConsumer[] => {
    const whole = given !== undefined && typeof member === 'string' ? { target: member } : member;
    const fields = Fields.of(whole, at, faults, 'an object with settings of a consumer');
    const name = given ?? fields?.requiredText('name');
    if (fields === undefined || name === undefined) return [];
    fields.requireKnown(['name', 'subQueue', ...KNOWN]);
    requireSameName(fields, name);
    const nameAt = given === undefined ? fields.pathOf('name') : at;
    const subQueue = subQueueIn(fields, 'subQueue', (one) => one);
    return [{ at, nameAt, name, subQueue, settings: settingsIn(fields, (one) => one) }];
  };
  if (Array.isArray(value)) {
    const consumers = placedList(value, consumersAt).flatMap((one) => read(one.value, one.at));
    return { consumers, consumersAt };
  }
  const record = Fields.of(value, consumersAt, faults, 'a list, or an object by name');
  const consumers = [...(record?.members ?? [])].flatMap(([name, member]) =>
    read(member, memberPath(consumersAt, name), name),
  );
  return { consumers, consumersAt };
}

/** Reads the list `Consumers` of an entity in the form of the vendor's file. Faults are noted. */
export function readFileConsumers(entity: Fields): RawConsumers {
  if (entity.get('Consumers') === undefined) return {};
  const consumers = entity.list('Consumers').flatMap(({ value, at }): readonly RawConsumer[] => {
    const fields = Fields.of(value, at, entity.faults);
    fields?.requireKnown(['Name', 'SubQueue', 'Properties']);
    const name = fields?.requiredText('Name');
    const properties = fields?.object('Properties');
    properties?.requireKnown(KNOWN.map(fileName));
    if (fields === undefined || name === undefined) return [];
    const settings = properties === undefined ? new Map() : settingsIn(properties, fileName);
    const subQueue = subQueueIn(fields, 'SubQueue', fileName);
    return [{ at, nameAt: fields.pathOf('Name'), name, subQueue, settings }];
  });
  return { consumers, consumersAt: entity.pathOf('Consumers') };
}

/** Notes a fault where an object has another name than its key. */
export function requireSameName(fields: Fields, name: string): void {
  const given = fields.get('name');
  if (given === undefined || given === name) return;
  fields.faults.add(
    fields.pathOf('name'),
    `It must be ${shown(name)}, as its key, not ${shown(given)}.`,
  );
}

/** The settings of a consumer among the members of an object. `spell` = how its form spells their names. */
export function settingsIn(
  fields: Fields,
  spell: (name: string) => string,
): ReadonlyMap<string, Placed> {
  const settings = new Map<string, Placed>();
  for (const name of KNOWN) {
    const value = fields.get(spell(name));
    if (value !== undefined) settings.set(name, { at: fields.pathOf(spell(name)), value });
  }
  return settings;
}

function subQueueIn(fields: Fields, member: string, spell: (name: string) => string): SubQueue {
  const value = fields.get(member);
  if (value === undefined) return 'main';
  const found = SUB_QUEUES.find((one) => spell(one) === value);
  if (found !== undefined) return found;
  const names = SUB_QUEUES.map((one) => JSON.stringify(spell(one)));
  fields.faults.add(
    fields.pathOf(member),
    `It must be ${listed(names, 'or')}, not ${shown(value)}.`,
  );
  return 'main';
}
