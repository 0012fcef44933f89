import type { ConsumerInput } from '../domain/consumers/consumer-settings.ts';
import { consumerSettings } from '../domain/consumers/consumer-settings.ts';
import type { Faults } from './faults.ts';
import type { Placed } from './fields.ts';
import type { Spelling } from './raw-entity.ts';
import { readSetting } from './read-setting.ts';
import { CONSUMER_SETTINGS } from './setting-table.ts';

/** A consumer of a configuration whose form was read, and whose values were not. */
export interface RawConsumerSettings {
  readonly at: string;
  /** The values of settings by their camelCase names, all of them known. */
  readonly settings: ReadonlyMap<string, Placed>;
}

/** Any target that every namespace could have; stands for the one that is checked apart. */
const SOME_TARGET = { target: 'http://localhost' } as const;

/**
 * Checks the settings of a consumer by the rules of the domain, one by one, so that each fault, which is noted, has the
 * path of its own. Undefined if there is one.
 */
export function checkConsumer(
  { at, settings }: RawConsumerSettings,
  spelling: Spelling,
  faults: Faults,
): ConsumerInput | undefined {
  const { count } = faults;
  const input = new Map<string, unknown>();
  for (const [name, { at: place, value }] of settings) {
    const setting = CONSUMER_SETTINGS[name];
    const found = setting && readSetting(setting, { at: place, value, faults, ...spelling });
    if (setting === undefined || found === undefined) continue;
    input.set(setting.field, found);
    faults.attempt(place, () => consumerSettings({ ...SOME_TARGET, [setting.field]: found }));
  }
  const target = input.get('target');
  if (settings.get('target')?.value === '' || !settings.has('target')) {
    faults.add(at, `The ${spelling.spell('target')} is missing: add it.`);
  }
  if (faults.count > count || typeof target !== 'string') return undefined;
  return { ...Object.fromEntries(input), target };
}
