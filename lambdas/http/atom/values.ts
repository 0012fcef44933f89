import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseDuration } from '../../../shared/domain/duration.ts';
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
const TICKS_PER_MS = 10_000;
const TICKS_MAX = 2n ** 63n - 1n;

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
      return { type: 'char', value: text };
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
      return parseFloating('float', trimmed);
    case 'double':
    case 'decimal':
      return parseFloating('double', trimmed);
    case 'dateTime':
      return parseDateTime(trimmed);
    case 'duration':
      return parseTicks(trimmed);
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

function parseFloating(type: 'float' | 'double', text: string): PropertyValue | undefined {
  if (DECIMAL.test(text)) return { type, value: Number(text) };
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

function parseTicks(text: string): PropertyValue | undefined {
  const negative = text.startsWith('-');
  const ms = parseDuration(negative ? text.slice(1) : text, 'Value');
  const ticks = ms === undefined ? TICKS_MAX : BigInt(ms * TICKS_PER_MS);
  return { type: 'timeSpan', value: negative ? -ticks : ticks };
}

/** The written form of a value: the local name of its type, and its text. */
export interface WrittenValue {
  readonly type: 'int' | 'double' | 'string' | 'boolean' | 'dateTime';
  readonly text: string;
}

/**
 * Writes a value as one of the five types that the official clients read (semantics G19): an unknown type
 * would make them fail on a complete list of rules. Other types become the nearest of the five and keep all
 * digits, so a client that sends a rule back may change the type of a value but never its number.
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
