import { argumentError } from '../../../shared/domain/broker-error.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import type {
  Properties,
  PropertyType,
  PropertyValue,
} from '../../../shared/domain/messages/property-value.ts';
import { parseIsoDate } from './date-text.ts';
import { isExactNumber, isJsonObject } from './exact-json.ts';
import { doubleText, numberProperty } from './number-text.ts';
import { requireWellFormed } from './well-formed-text.ts';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DECIMAL_BYTES = 16;
const INTEGER_TEXT = /^-?\d{1,20}$/;

const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;

/** Reads the value of a `$` key; `undefined` if it does not have that type. */
type TypedReader = (value: unknown) => PropertyValue | undefined;

const TYPED_READERS: ReadonlyMap<string, TypedReader> = new Map<string, TypedReader>([
  ['$sbyte', smallInteger('sbyte', -128n, 127n)],
  ['$byte', smallInteger('byte', 0n, 255n)],
  ['$short', smallInteger('short', -32_768n, 32_767n)],
  ['$ushort', smallInteger('ushort', 0n, 65_535n)],
  ['$int', smallInteger('int', -INT32_MAX - 1n, INT32_MAX)],
  ['$uint', smallInteger('uint', 0n, 2n ** 32n - 1n)],
  ['$long', largeInteger('long', -INT64_MAX - 1n, INT64_MAX)],
  ['$ulong', largeInteger('ulong', 0n, 2n ** 64n - 1n)],
  ['$timeSpan', largeInteger('timeSpan', -INT64_MAX - 1n, INT64_MAX)],
  ['$dateTimeOffset', largeInteger('dateTimeOffset', -INT64_MAX - 1n, INT64_MAX)],
  ['$float', floatingPoint('float', Math.fround)],
  ['$double', floatingPoint('double', (value) => value)],
  ['$date', readDate],
  ['$guid', ofText((value) => (GUID.test(value) ? guid(value) : undefined))],
  ['$uri', ofText((value) => ({ type: 'uri', value }))],
  ['$char', ofText((value) => ([...value].length === 1 ? { type: 'char', value } : undefined))],
  ['$bytes', ofText((value) => ofBase64('bytes', value))],
  ['$decimal', ofText((value) => ofBase64('decimal', value))],
]);

/**
 * Reads properties from JSON that `parseExactJson` parsed. Types that JSON has are plain values: `"a"`,
 * `true`, `null`, `7` (int), `7.0` (double), `9007199254740991` (long). Every other type is an object with
 * one `$` key: `{"$guid":"…"}` (semantics H16). `what` names the object in refusals. Throws ArgumentError.
 */
export function readProperties(json: unknown, what = 'UserProperties'): Properties {
  if (json === undefined || json === null) return {};
  if (!isJsonObject(json)) throw argumentError(`${what} must be a JSON object.`);
  // `fromEntries` defines own keys, so that a property may even be called `__proto__`.
  const properties = Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      requireWellFormed(name, `The name of a property in ${what}`),
      readProperty(name, value),
    ]),
  );
  requirePropertiesFit(properties);
  return properties;
}

/** Reads a property's value from JSON that `parseExactJson` parsed. `name` is in refusals. Throws ArgumentError. */
export function readProperty(name: string, json: unknown): PropertyValue {
  switch (typeof json) {
    case 'string':
      return {
        type: 'string',
        value: requireWellFormed(json, `The property '${shortened(name)}'`),
      };
    case 'boolean':
      return { type: 'boolean', value: json };
    case 'number':
      return plainNumberProperty(json) ?? refuse(name, 'is a number that fits no 64 bits');
  }
  if (json === null) return { type: 'null' };
  if (isExactNumber(json)) {
    return numberProperty(json.$number) ?? refuse(name, 'is a number that fits no 64 bits');
  }
  if (!isJsonObject(json)) refuse(name, 'is a list; values are texts, numbers, booleans or null');
  const [key = '', ...others] = Object.keys(json);
  const read = TYPED_READERS.get(key);
  if (read === undefined || others.length > 0) {
    refuse(name, 'is an object; only typed values such as {"$long":"7"} may be one');
  }
  return read(json[key]) ?? refuse(name, `holds no value of the type ${key}`);
}

/** A number that `parseExactJson` kept as a double, so not an integer beyond 2^53. */
function plainNumberProperty(value: number): PropertyValue | undefined {
  if (!Number.isInteger(value)) {
    return Number.isFinite(value) ? { type: 'double', value } : undefined;
  }
  return isInt32(value)
    ? { type: 'int', value: value + 0 }
    : { type: 'long', value: BigInt(value) };
}

const isInt32 = (value: number): boolean => (value | 0) === value;

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  const text = isExactNumber(value) ? value.$number : value;
  return typeof text === 'string' && INTEGER_TEXT.test(text) ? BigInt(text) : undefined;
}

function smallInteger(
  type: 'byte' | 'sbyte' | 'short' | 'ushort' | 'int' | 'uint',
  min: bigint,
  max: bigint,
): TypedReader {
  return (json) => {
    const value = integerOf(json);
    return value !== undefined && value >= min && value <= max
      ? { type, value: Number(value) }
      : undefined;
  };
}

function largeInteger(
  type: 'long' | 'ulong' | 'timeSpan' | 'dateTimeOffset',
  min: bigint,
  max: bigint,
): TypedReader {
  return (json) => {
    const value = integerOf(json);
    return value !== undefined && value >= min && value <= max ? { type, value } : undefined;
  };
}

/** Reads numbers, and the texts NaN, Infinity and -Infinity, which JSON has no numbers for. */
function floatingPoint(type: 'float' | 'double', round: (value: number) => number): TypedReader {
  return (json) => {
    const plain = isExactNumber(json) ? Number(json.$number) : json;
    if (typeof plain === 'number') {
      return Number.isFinite(plain) ? { type, value: round(plain) } : undefined;
    }
    return plain === 'NaN' || plain === 'Infinity' || plain === '-Infinity'
      ? { type, value: Number(plain) }
      : undefined;
  };
}

/** Reads ISO 8601, or epoch ms, which `printDate` writes for instants outside the years 0 to 9999. */
function readDate(json: unknown): PropertyValue | undefined {
  const value =
    typeof json === 'string'
      ? parseIsoDate(json)
      : typeof json === 'number' && Number.isInteger(json)
        ? json
        : undefined;
  return value === undefined ? undefined : { type: 'dateTime', value };
}

function ofText(read: (text: string) => PropertyValue | undefined): TypedReader {
  return (json) =>
    typeof json === 'string' ? read(requireWellFormed(json, 'A property')) : undefined;
}

const guid = (value: string): PropertyValue => ({ type: 'guid', value: value.toLowerCase() });

function ofBase64(type: 'bytes' | 'decimal', text: string): PropertyValue | undefined {
  const value = parseBase64(text);
  if (value === undefined || (type === 'decimal' && value.length !== DECIMAL_BYTES)) {
    return undefined;
  }
  return { type, value };
}

/** Decodes base64 with padding; `undefined` for any other text, which would decode to fewer bytes. */
export function parseBase64(text: string): Uint8Array | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}

/** Encodes bytes in standard base64, with padding. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Prints properties as JSON, from which `readProperties` restores the same types. */
export function printProperties(properties: Properties): string {
  const members = Object.entries(properties).map(
    ([name, value]) => `${JSON.stringify(name)}:${printProperty(value)}`,
  );
  return `{${members.join(',')}}`;
}

/** Prints the value of a property as JSON, from which `readProperty` restores the same type. */
export function printProperty(property: PropertyValue): string {
  switch (property.type) {
    case 'null':
      return 'null';
    case 'boolean':
    case 'int':
      return String(property.value);
    case 'string':
      return JSON.stringify(property.value);
    case 'double':
      return Number.isFinite(property.value)
        ? doubleText(property.value)
        : typed('double', String(property.value));
    case 'float':
      return Number.isFinite(property.value)
        ? `{"$float":${doubleText(property.value)}}`
        : typed('float', String(property.value));
    case 'long':
      return printLong(property.value);
    case 'dateTime':
      return printDate(property.value);
    case 'bytes':
    case 'decimal':
      return typed(property.type, base64(property.value));
    case 'uri':
    case 'char':
    case 'guid':
    case 'ulong':
    case 'timeSpan':
    case 'dateTimeOffset':
      return typed(property.type, String(property.value));
    default:
      return `{"$${property.type}":${property.value}}`;
  }
}

/** A plain number only where it parses as a long again and JavaScript clients keep its digits. */
function printLong(value: bigint): string {
  const size = value < 0n ? -value : value;
  const plain = size > INT32_MAX + 1n && size <= BigInt(Number.MAX_SAFE_INTEGER);
  return plain ? String(value) : typed('long', String(value));
}

function printDate(ms: number): string {
  const date = new Date(ms);
  const hasIsoYear = date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999;
  return hasIsoYear ? typed('date', date.toISOString()) : `{"$date":${ms}}`;
}

const typed = (type: PropertyType | 'date', text: string): string =>
  `{"$${type}":${JSON.stringify(text)}}`;

const shortened = (name: string): string => name.slice(0, 64);

function refuse(name: string, why: string): never {
  throw argumentError(`The property '${shortened(name)}' ${why}.`);
}
