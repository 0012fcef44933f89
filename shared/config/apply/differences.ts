import { isDeepStrictEqual } from 'node:util';
import { BrokerError } from '../../domain/broker-error.ts';
import type { EntityDescription } from '../../domain/entities/descriptions.ts';
import type { EntityConfig } from '../namespace-config.ts';
import { fileName, SETTINGS } from '../setting-table.ts';
import { writtenSetting } from '../written-setting.ts';
import type { ConfigTarget } from './config-target.ts';

/**
 * A sentence for each setting of an existing entity that is not as the configuration has it. `found` = the description
 * of the entity. Keys of shared access policies are in no sentence. Throws ArgumentError for settings that no entity of
 * the namespace can have.
 */
export function differencesOf(
  target: Pick<ConfigTarget, 'describe'>,
  { name, settings }: EntityConfig,
  found: EntityDescription,
): readonly string[] {
  const [now, wanted] = [found, describe(target, settings, found)].map(
    (description) => new Map<string, unknown>(Object.entries(description)),
  );
  return Object.entries(SETTINGS[found.kind]).flatMap(([setting, { field, form }]) => {
    const [before, after] = [now?.get(field), wanted?.get(field)];
    if (isDeepStrictEqual(before, after)) return [];
    const title = fileName(setting);
    if (form === 'policies') return [`${name} exists with other ${title}.`];
    const [has, gets] = [before, after].map((value) => writtenSetting(form, value));
    return [`${name} exists with ${title} ${shownOr(has)} in place of ${shownOr(gets)}.`];
  });
}

/** The description after an update, or, if an update cannot make it, after a creation. */
function describe(
  target: Pick<ConfigTarget, 'describe'>,
  settings: EntityConfig['settings'],
  found: EntityDescription,
): EntityDescription {
  try {
    return target.describe(settings, found);
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'ArgumentError') throw error;
    return target.describe(settings);
  }
}

function shownOr(value: unknown): string {
  return value === '' ? 'not set' : String(value);
}
