import { argumentError } from '../../shared/domain/broker-error.ts';
import { shown } from '../../shared/domain/fault-words.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import type { Faults } from './config-error.ts';
import type { RawValues } from './raw-entity.ts';

/** Reads values of properties or parameters. Their faults are noted. */
export function readValues(values: RawValues, faults: Faults): Properties {
  const entries = [...values].flatMap(([name, { at, value }]) => {
    const read = faults.attempt(at, () => readValue(value));
    return read === undefined ? [] : [[name, read] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * The type of a JSON value: a whole number is the smallest of int and long that holds it, any other number a double.
 * An instant is `{ "DateTime": "2030-01-01T00:00:00Z" }`, or a Date where the configuration is no JSON.
 * Throws ArgumentError.
 */
function readValue(value: unknown): PropertyValue {
  if (typeof value === 'string') return { type: 'string', value };
  if (typeof value === 'boolean') return { type: 'boolean', value };
  if (typeof value === 'number') return readNumber(value);
  const instant = value instanceof Date ? value.getTime() : instantOf(value);
  if (instant !== undefined && instant >= LIMITS.instantMin && instant <= LIMITS.instantMax) {
    return { type: 'dateTime', value: instant };
  }
  throw argumentError(
    `It must be a text, a number, true, false or an instant such as {"DateTime":"2030-01-01T00:00:00Z"}, not ${shown(value)}.`,
  );
}

function readNumber(value: number): PropertyValue {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return { type: 'double', value };
  return value === (value | 0) ? { type: 'int', value } : { type: 'long', value: BigInt(value) };
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?Z$/;

function instantOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const [[name, text] = [], ...others] = Object.entries(value);
  if (name !== 'DateTime' || others.length > 0 || typeof text !== 'string') return undefined;
  const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
