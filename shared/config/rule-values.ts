import { argumentError } from '../domain/broker-error.ts';
import { shown } from '../domain/fault-words.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Properties, PropertyValue } from '../domain/messages/property-value.ts';
import type { Faults } from './faults.ts';
import type { RawValues } from './raw-entity.ts';

/** Reads the value of a property or parameter. Throws ArgumentError. */
export type ValueReader = (value: unknown, name: string) => PropertyValue;

/** Reads values of properties or parameters. Their faults are noted. `read` = the form of the values. */
export function readValues(
  values: RawValues,
  faults: Faults,
  read: ValueReader = readValue,
): Properties {
  const entries = [...values].flatMap(([name, { at, value }]) => {
    if (name === '') {
      faults.add(at, 'The name of a property or parameter is empty: name it, or remove it.');
      return [];
    }
    const found = faults.attempt(at, () => read(value, name));
    return found === undefined ? [] : [[name, found] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * The type of a JSON value: a whole number is the smallest of int and long that holds it, any other number a double.
 * `{ "Double": 7 }` and `{ "Double": "NaN" }` are doubles that JSON has no number for. An instant is
 * `{ "DateTime": "2030-01-01T00:00:00Z" }`, or a Date where the configuration is no JSON. Throws ArgumentError.
 */
function readValue(value: unknown): PropertyValue {
  if (typeof value === 'string') return { type: 'string', value };
  if (typeof value === 'boolean') return { type: 'boolean', value };
  if (typeof value === 'number') return readNumber(value);
  const instant = value instanceof Date ? value.getTime() : instantOf(value);
  if (instant !== undefined && instant >= LIMITS.instantMin && instant <= LIMITS.instantMax) {
    return { type: 'dateTime', value: instant };
  }
  const double = doubleOf(value);
  if (double !== undefined) return { type: 'double', value: double };
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
  const text = onlyMember(value, 'DateTime');
  if (typeof text !== 'string') return undefined;
  const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

const NO_NUMBERS: readonly unknown[] = ['NaN', 'Infinity', '-Infinity'];

function doubleOf(value: unknown): number | undefined {
  const number = onlyMember(value, 'Double');
  if (typeof number === 'number') return number;
  return NO_NUMBERS.includes(number) ? Number(number) : undefined;
}

/** The only member of an object, which must have this name; undefined for any other value. */
function onlyMember(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const [[found, member] = [], ...others] = Object.entries(value);
  return found === name && others.length === 0 ? member : undefined;
}

/**
 * A value of a property or parameter as the file has it. `readValues` reads the types that management shows again:
 * text, boolean, int, double and instant. The others become text or numbers.
 */
export function writtenRuleValue(value: PropertyValue): unknown {
  switch (value.type) {
    case 'double':
    case 'float': {
      const { value: number } = value;
      if (!Number.isFinite(number)) return { Double: String(number) };
      // Without the sign of zero, which JSON has no digits for.
      const plain = readNumber(number === 0 ? 0 : number);
      return plain.type === 'int' ? { Double: number } : number;
    }
    case 'dateTime':
      return { DateTime: new Date(value.value).toISOString() };
    case 'byte':
    case 'sbyte':
    case 'short':
    case 'ushort':
    case 'int':
    case 'uint':
    case 'long':
    case 'ulong':
      return Number(value.value);
    case 'boolean':
      return value.value;
    case 'null':
      return '';
    default:
      return String(value.value);
  }
}
