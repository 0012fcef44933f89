import { argumentError } from '../domain/broker-error.ts';
import { parseDuration } from '../domain/duration.ts';
import {
  ACCESS_RIGHTS,
  type AuthorizationRuleInput,
} from '../domain/entities/authorization-rules.ts';
import { requireEntityName } from '../domain/entities/entity-path.ts';
import { destinationName } from '../domain/entities/forwarding-settings.ts';
import { kindShown, listed, shown } from '../domain/fault-words.ts';
import { present } from '../domain/present.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../domain/units.ts';
import type { Faults } from './faults.ts';
import { Fields } from './fields.ts';
import type { Setting } from './setting-table.ts';

/** A value of a configuration, where it is, and how that configuration spells names. */
export interface SettingSource {
  readonly at: string;
  readonly value: unknown;
  readonly faults: Faults;
  /** Spells a camelCase name as this configuration does. */
  readonly spell: (name: string) => string;
  /** The name of the rights of a policy in this configuration. */
  readonly rightsName: string;
}

/**
 * The value of a setting as the domain has it; undefined if that means the default. Faults of its form are noted, and
 * the result is then undefined; the domain checks its bounds.
 */
export function readSetting(setting: Setting, source: SettingSource): unknown {
  const { at, value, faults } = source;
  if (setting.form === 'policies') return readPolicies(source);
  return faults.attempt(at, () => readScalar(setting, value));
}

function readScalar({ form }: Setting, value: unknown): unknown {
  switch (form) {
    case 'duration':
      return readDuration(value);
    case 'unlimitedDuration': {
      const ms = readDuration(value);
      return ms === Infinity ? undefined : ms;
    }
    case 'boolean':
      if (typeof value === 'boolean') return value;
      throw argumentError(`It must be true or false, not ${shown(value)}.`);
    case 'wholeNumber':
      if (Number.isInteger(value)) return value;
      throw argumentError(`It must be a whole number, not ${shown(value)}.`);
    case 'destination':
      return readDestination(readText(value));
    default:
      return readText(value) || undefined;
  }
}

function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw argumentError(`It must be a text, not ${shown(value)}.`);
}

function readDestination(text: string): string | undefined {
  const name = destinationName(text, 'the destination');
  if (name !== undefined) requireEntityName(name);
  return name;
}

const PARTS: Readonly<Record<string, number>> = {
  days: DAY_MS,
  hours: HOUR_MS,
  minutes: MINUTE_MS,
  seconds: SECOND_MS,
  milliseconds: 1,
};

/** Reads a duration, ms; Infinity = unlimited. Throws ArgumentError. */
function readDuration(value: unknown): number {
  if (typeof value === 'string') return parseDuration(value, 'this property') ?? Infinity;
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const known = parts.every(
    ([name, part]) =>
      Object.hasOwn(PARTS, name) &&
      (part === undefined || (typeof part === 'number' && Number.isFinite(part) && part >= 0)),
  );
  if (parts.length === 0 || !known || Array.isArray(value)) {
    throw argumentError(
      `It must be an ISO 8601 duration such as "PT30S", or numbers of ${listed(Object.keys(PARTS), 'and')}, not ${shown(value)}.`,
    );
  }
  const ms = parts.reduce((sum, [name, part]) => sum + Number(part ?? 0) * (PARTS[name] ?? 0), 0);
  return Math.round(ms);
}

/** Faults of policies do not repeat what is there, since it may have keys. */
function readPolicies({ at, value, faults, ...source }: SettingSource): unknown {
  if (!Array.isArray(value)) {
    faults.add(at, `It must be a list, not ${kindShown(value)}.`);
    return undefined;
  }
  return value.flatMap((one: unknown, i) => {
    const place = `${at}[${i}]`;
    if (typeof one !== 'object' || one === null || Array.isArray(one)) {
      faults.add(place, `It must be an object, not ${kindShown(one)}.`);
      return [];
    }
    const fields = Fields.of(one, place, faults);
    return (fields && readPolicy(fields, source)) ?? [];
  });
}

function readPolicy(
  fields: Fields,
  { spell, rightsName }: Pick<SettingSource, 'spell' | 'rightsName'>,
): AuthorizationRuleInput | undefined {
  const names = ['keyName', 'primaryKey', 'secondaryKey', 'claimType'].map(spell);
  fields.requireKnown([...names, rightsName]);
  const keyName = fields.requiredText(spell('keyName'));
  const claimType = fields.text(spell('claimType')) ?? 'SharedAccessKey';
  if (claimType !== 'SharedAccessKey') {
    fields.faults.add(fields.pathOf(spell('claimType')), 'It must be "SharedAccessKey".');
  }
  const rights = fields.list(rightsName).flatMap((one) => {
    const right = ACCESS_RIGHTS.find((each) => each === one.value);
    if (right !== undefined) return [right];
    fields.faults.add(
      one.at,
      `It must be ${listed(ACCESS_RIGHTS, 'or')}, not ${shown(one.value)}.`,
    );
    return [];
  });
  if (keyName === undefined) return undefined;
  return {
    keyName,
    rights,
    ...present({
      primaryKey: readKey(fields, spell('primaryKey')),
      secondaryKey: readKey(fields, spell('secondaryKey')),
    }),
  };
}

function readKey(fields: Fields, name: string): string | undefined {
  const value = fields.get(name);
  if (value === undefined || typeof value === 'string') return value;
  fields.faults.add(fields.pathOf(name), `It must be a text, not ${kindShown(value)}.`);
  return undefined;
}
