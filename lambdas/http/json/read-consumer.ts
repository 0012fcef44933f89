import { checkConsumer } from '../../../shared/config/check-consumer.ts';
import { Faults } from '../../../shared/config/faults.ts';
import { Fields, type Placed } from '../../../shared/config/fields.ts';
import { CONSUMER_SETTINGS } from '../../../shared/config/setting-table.ts';
import { SHORT_SPELLING } from '../../../shared/config/short-form.ts';
import { assert } from '../../../shared/domain/assert.ts';
import type { ConsumerInput } from '../../../shared/domain/consumers/consumer-settings.ts';
import { parseDescription, plainNumbers, requireNoFaults } from './description-body.ts';
import { requireAgreement } from './read-rule.ts';

/** The members that only an answer has. A request may repeat them, so that what was read can be sent back. */
export const CONSUMER_READ_ONLY: readonly string[] = [
  'requiresSession',
  'createdAt',
  'modifiedAt',
  'state',
];

/**
 * Reads the settings of a consumer from JSON (semantics J5). `name` = its name in the path, with which that in the body
 * must agree. Missing settings are left out, which means their defaults. Throws ArgumentError with all faults and their
 * paths.
 */
export function readConsumer(body: Uint8Array, name: string): ConsumerInput {
  const faults = new Faults();
  const fields = Fields.of(plainNumbers(parseDescription(body)), '', faults);
  assert(fields !== undefined, 'the body is an object');
  const known = Object.keys(CONSUMER_SETTINGS);
  fields.requireKnown(['name', ...known, ...CONSUMER_READ_ONLY]);
  requireAgreement(fields, 'name', name, 'the path says');
  const settings = new Map<string, Placed>();
  for (const setting of known) {
    const value = fields.get(setting);
    if (value !== undefined) settings.set(setting, { at: fields.pathOf(setting), value });
  }
  const input = checkConsumer({ at: '', settings }, SHORT_SPELLING, faults);
  requireNoFaults(faults);
  assert(input !== undefined, 'a consumer without faults was read');
  return input;
}
