import { CONSUMER_LIMITS } from '../domain/consumers/consumer.ts';
import { type ConsumerName, consumerKey } from '../domain/consumers/consumer-key.ts';
import { type ConsumerInput, consumerSettings } from '../domain/consumers/consumer-settings.ts';
import { pathOf, requireChildName } from '../domain/entities/entity-path.ts';
import type { Faults } from './faults.ts';
import type { ConsumerConfig } from './namespace-config.ts';
import type { RawConsumer, RawEntity, Spelling } from './raw-entity.ts';
import { readSetting } from './read-setting.ts';
import { CONSUMER_SETTINGS } from './setting-table.ts';
import { takenName } from './taken-name.ts';

/** Any target that every namespace could have; stands for the one that is checked apart. */
const SOME_TARGET = { target: 'http://localhost' } as const;

/**
 * Checks the settings of a consumer by the rules of the domain, one by one, so that each fault, which is noted, has the
 * path of its own. Undefined if there is one.
 */
export function checkConsumer(
  { at, settings }: Pick<RawConsumer, 'at' | 'settings'>,
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

/** Checks the consumers of an entity. Undefined if the configuration does not mention them. Faults are noted. */
export function checkedConsumers(
  { consumers, consumersAt = '', settings }: RawEntity,
  spelling: Spelling,
  faults: Faults,
): readonly ConsumerConfig[] | undefined {
  if (consumers === undefined) return undefined;
  const { perEntity } = CONSUMER_LIMITS;
  if (consumers.length > perEntity) {
    faults.add(
      consumersAt,
      `There are ${consumers.length} consumers; an entity may have ${perEntity} with its dead-letter queues.`,
    );
  }
  const names = new Map<string, string>();
  const forwards = Boolean(settings.get('forwardTo')?.value);
  return consumers.flatMap((raw) => {
    const { at, nameAt, name, subQueue } = raw;
    const key = consumerKey({ subQueue, name });
    const other = names.get(key);
    if (other === undefined) names.set(key, at);
    else faults.add(nameAt, takenName(name, other));
    faults.attempt(nameAt, () => requireChildName(name));
    if (forwards && subQueue === 'main') {
      faults.add(at, 'It would get no messages, because the entity forwards them: remove it.');
    }
    const input = checkConsumer(raw, spelling, faults);
    return input === undefined ? [] : [{ at, name, subQueue, input }];
  });
}

/** The path of a consumer in sentences: `orders/$deadletterqueue/Consumers/worker`. */
export function consumerPath(entity: string, { subQueue, name }: ConsumerName): string {
  return `${pathOf(entity, subQueue)}/Consumers/${name}`;
}
