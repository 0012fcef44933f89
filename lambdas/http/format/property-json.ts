import { argumentError } from '../../../shared/domain/broker-error.ts';
import { numberProperty } from '../../../shared/domain/messages/number-text.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { parseIsoDate } from './date-text.ts';
import { isExactNumber, isJsonObject } from './exact-json.ts';
import { requireWellFormed } from './well-formed-text.ts';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BASE64 = /^[\w+/-]*={0,2}$/;
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
  const value = bytesOf(text);
  if (value === undefined || (type === 'decimal' && value.length !== DECIMAL_BYTES)) {
    return undefined;
  }
  return { type, value };
}

/** As `parseBase64`, without Node's Buffer, which the explorer has not. For short texts. */
function bytesOf(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  const standard = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(standard), (character) => character.charCodeAt(0));
}

const shortened = (name: string): string => name.slice(0, 64);

function refuse(name: string, why: string): never {
  throw argumentError(`The property '${shortened(name)}' ${why}.`);
}
