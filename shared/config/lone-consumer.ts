import type { ConsumerInput } from '../domain/consumers/consumer-settings.ts';
import { checkConsumer } from './check-consumer.ts';
import type { Faults } from './faults.ts';
import { Fields } from './fields.ts';
import { settingsIn } from './read-consumers.ts';
import { CONSUMER_SETTINGS } from './setting-table.ts';
import { SHORT_SPELLING } from './short-form.ts';

/**
 * Reads the settings of a consumer in the short form, apart from any entity. Undefined if there is a fault, which is
 * noted.
 */
export function readLoneConsumer(value: unknown, faults: Faults): ConsumerInput | undefined {
  const { count } = faults;
  const fields = Fields.of(value, '', faults, 'an object with settings of a consumer');
  if (fields === undefined) return undefined;
  fields.requireKnown(Object.keys(CONSUMER_SETTINGS));
  const settings = settingsIn(fields, (one) => one);
  const input = checkConsumer({ at: '', settings }, SHORT_SPELLING, faults);
  return faults.count > count ? undefined : input;
}
