import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseTicks } from '../../../shared/domain/duration.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { isoDate, parseIsoDate, ticksAsDate, ticksAsTimeSpan } from '../format/date-text.ts';

const SMALL_INTEGERS = {
  byte: 'sbyte',
  unsignedByte: 'byte',
  short: 'short',
  unsignedShort: 'ushort',
  int: 'int',
  unsignedInt: 'uint',
} as const;
const INTEGER_BITS = {
  sbyte: 8,
  byte: 8,
  short: 16,
  ushort: 16,
  int: 32,
  uint: 32,
  long: 64,
  ulong: 64,
};
const INTEGER = /^[+-]?\d{1,20}$/;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Reads a typed value of a filter or an action, `<Value i:type="l28:int">5</Value>` (semantics G19), of any
 * XML Schema type that .NET writes. `type` = the local name of the type; a string without it. Throws
 * ArgumentError.
 */
export function readValue(type: string | undefined, text: string): PropertyValue {
  const value = parseValue(type ?? 'string', text);
  if (value !== undefined) return value;
  throw argumentError(`The value '${text.slice(0, 64)}' is not of a type known as '${type}'.`);
}

function parseValue(type: string, text: string): PropertyValue | undefined {
  const trimmed = text.trim();
  switch (type) {
    case 'string':
      return { type: 'string', value: text };
    case 'anyURI':
      return { type: 'uri', value: text };
    case 'char':
      return [...text].length === 1 ? { type: 'char', value: text } : undefined;
    case 'guid':
      return GUID.test(trimmed.toLowerCase())
        ? { type: 'guid', value: trimmed.toLowerCase() }
        : undefined;
    case 'boolean':
      return parseBoolean(trimmed);
    case 'long':
    case 'integer':
      return parseLong('long', trimmed);
    case 'unsignedLong':
      return parseLong('ulong', trimmed);
    case 'float':
      return parseFloating('float', trimmed, Math.fround);
    case 'double':
    case 'decimal':
      return parseLongText(trimmed) ?? parseFloating('double', trimmed, Number);
    case 'dateTime':
      return parseDateTime(trimmed);
    case 'duration':
      return parseTimeSpan(trimmed);
    default:
      return parseSmallInteger(type, trimmed);
  }
}

function parseBoolean(text: string): PropertyValue | undefined {
  if (text === 'true' || text === '1') return { type: 'boolean', value: true };
  if (text === 'false' || text === '0') return { type: 'boolean', value: false };
  return undefined;
}

function parseSmallInteger(xmlType: string, text: string): PropertyValue | undefined {
  if (!Object.hasOwn(SMALL_INTEGERS, xmlType)) return undefined;
  const type = SMALL_INTEGERS[xmlType as keyof typeof SMALL_INTEGERS];
  const value = parseInteger(type, text);
  return value === undefined ? undefined : { type, value: Number(value) };
}

function parseLong(type: 'long' | 'ulong', text: string): PropertyValue | undefined {
  const value = parseInteger(type, text);
  return value === undefined ? undefined : { type, value };
}

function parseInteger(type: keyof typeof INTEGER_BITS, text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  const unsigned = type === 'byte' || type.startsWith('u');
  const fitting = unsigned
    ? BigInt.asUintN(INTEGER_BITS[type], value)
    : BigInt.asIntN(INTEGER_BITS[type], value);
  return fitting === value ? value : undefined;
}

/**
 * An integer with more digits than a double has: `writeValue` wrote a long or ulong, for which it has no type.
 * Undefined for the shortest text of a double, which is what clients write that have only doubles.
 */
function parseLongText(text: string): PropertyValue | undefined {
  if (!INTEGER.test(text) || Number.isSafeInteger(Number(text))) return undefined;
  if (BigInt(text.replace('+', '')) === BigInt(doubleDigits(text))) return undefined;
  return parseLong('long', text) ?? parseLong('ulong', text);
}

/** The digits of the double that is nearest to an integer of at most 20 digits. */
const doubleDigits = (text: string): string => String(Number(text));

/** Parses a number that `round` makes one of the type; undefined for one beyond its range. */
function parseFloating(
  type: 'float' | 'double',
  text: string,
  round: (value: number) => number,
): PropertyValue | undefined {
  if (DECIMAL.test(text)) {
    const value = round(Number(text));
    return Number.isFinite(value) ? { type, value } : undefined;
  }
  if (text === 'NaN') return { type, value: Number.NaN };
  if (text === 'INF') return { type, value: Infinity };
  return text === '-INF' ? { type, value: -Infinity } : undefined;
}

/** Parses an instant; without an offset it is in UTC, as all times of the API (semantics G20). */
function parseDateTime(text: string): PropertyValue | undefined {
  const value = parseIsoDate(text) ?? parseIsoDate(`${text}Z`);
  if (value === undefined) return undefined;
  // Another spelling is kept as text: recordings of the service return it unchanged.
  return isReadableDate(value) && text === isoDate(value)
    ? { type: 'dateTime', value }
    : { type: 'dateTime', value, text };
}

function parseTimeSpan(text: string): PropertyValue | undefined {
  const value = parseTicks(text);
  return value === undefined ? undefined : { type: 'timeSpan', value };
}

/** The written form of a value: the local name of its type, and its text. */
export interface WrittenValue {
  readonly type: 'int' | 'double' | 'string' | 'boolean' | 'dateTime';
  readonly text: string;
}

/**
 * Writes a value as one of the five types that the official clients read (semantics G19): an unknown type
 * would make them fail on a complete list of rules. Other types become the nearest of the five and keep all
 * digits, from which `readValue` makes the same number again, maybe of another type. Clients that parse a double
 * themselves have its 15 to 17 digits only.
 */
export function writeValue(value: PropertyValue): WrittenValue {
  switch (value.type) {
    case 'boolean':
      return { type: 'boolean', text: String(value.value) };
    case 'byte':
    case 'sbyte':
    case 'short':
    case 'ushort':
    case 'int':
    case 'uint':
    case 'long':
    case 'ulong': {
      const fits = BigInt.asIntN(32, BigInt(value.value)) === BigInt(value.value);
      return { type: fits ? 'int' : 'double', text: String(value.value) };
    }
    case 'float':
    case 'double':
      return { type: 'double', text: floatingText(value.value) };
    case 'dateTime':
      if (value.text !== undefined) return { type: 'dateTime', text: value.text };
      return isReadableDate(value.value)
        ? { type: 'dateTime', text: isoDate(value.value) }
        : { type: 'string', text: String(value.value) };
    case 'dateTimeOffset':
      return { type: 'dateTime', text: ticksAsDate(value.value) };
    case 'timeSpan':
      return { type: 'string', text: ticksAsTimeSpan(value.value) };
    case 'null':
      return { type: 'string', text: '' };
    case 'decimal':
    case 'bytes':
      return { type: 'string', text: Buffer.from(value.value).toString('base64') };
    default:
      return { type: 'string', text: value.value };
  }
}

/** Whether clients can read the ISO text of an instant. */
function isReadableDate(ms: number): boolean {
  return ms >= LIMITS.instantMin && ms <= LIMITS.instantMax;
}

/** XML Schema spells Infinity INF. */
function floatingText(value: number): string {
  return String(value).replace('Infinity', 'INF');
}
