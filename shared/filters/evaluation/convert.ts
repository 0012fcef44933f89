import type { PropertyType, PropertyValue } from '../../domain/messages/property-value.ts';
import {
  decimalFromNumber,
  decimalToInteger,
  decimalToText,
  decodeDecimal,
  encodeDecimal,
  parseDecimal,
} from './decimal.ts';
import { KIND, msOfTicks, ticksOf, toInteger, toNumber } from './values.ts';

/** Smallest and largest value of each integer type. */
const RANGES = {
  byte: [0n, 2n ** 8n - 1n],
  sbyte: [-(2n ** 7n), 2n ** 7n - 1n],
  short: [-(2n ** 15n), 2n ** 15n - 1n],
  ushort: [0n, 2n ** 16n - 1n],
  int: [-(2n ** 31n), 2n ** 31n - 1n],
  uint: [0n, 2n ** 32n - 1n],
  long: [-(2n ** 63n), 2n ** 63n - 1n],
  ulong: [0n, 2n ** 64n - 1n],
} as const;

const GUID = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i;

/**
 * Converts a value to the type of an existing property, for SET (semantics R22). Conversions that keep the
 * value are possible: between numeric types if the number fits, between numbers, booleans or guids and their
 * text, and between the two instant types. 7.5 cannot become an int. `undefined` = not possible.
 */
export function convertTo(value: PropertyValue, type: PropertyType): PropertyValue | undefined {
  if (value.type === type || value.type === 'null' || type === 'null') return value;
  switch (type) {
    case 'string':
    case 'uri':
    case 'char': {
      const text = toText(value);
      if (text === undefined || (type === 'char' && text.length !== 1)) return undefined;
      return { type, value: text };
    }
    case 'boolean':
      return toBoolean(value);
    case 'guid': {
      const digits = GUID.exec(toText(value) ?? '')?.[1];
      return digits === undefined ? undefined : { type, value: digits.toLowerCase() };
    }
    case 'float':
    case 'double':
      return toDouble(value, type);
    case 'decimal':
      return toDecimalValue(value);
    case 'dateTime':
    case 'dateTimeOffset':
      return toInstant(value, type);
    case 'timeSpan':
    case 'bytes':
      return undefined;
    default:
      return toIntegerValue(value, type);
  }
}

/** The text of a value in the form of .NET; `undefined` if the type has no plain text form. */
function toText(value: PropertyValue): string | undefined {
  switch (KIND[value.type]) {
    case 'text':
    case 'guid':
    case 'integer':
    case 'double':
      return 'value' in value ? String(value.value) : undefined;
    case 'boolean':
      return value.type === 'boolean' && value.value ? 'True' : 'False';
    case 'decimal': {
      const decimal = value.type === 'decimal' ? decodeDecimal(value.value) : undefined;
      return decimal === undefined ? undefined : decimalToText(decimal);
    }
    default:
      return undefined;
  }
}

function toBoolean(value: PropertyValue): PropertyValue | undefined {
  const text = KIND[value.type] === 'text' ? toText(value)?.toLowerCase() : undefined;
  if (text !== 'true' && text !== 'false') return undefined;
  return { type: 'boolean', value: text === 'true' };
}

function toDouble(value: PropertyValue, type: 'float' | 'double'): PropertyValue | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  if (type === 'double') return { type, value: number };
  const single = Math.fround(number);
  return Number.isFinite(number) && !Number.isFinite(single) ? undefined : { type, value: single };
}

function numberOf(value: PropertyValue): number | undefined {
  const kind = KIND[value.type];
  if (kind === 'integer' || kind === 'double' || kind === 'decimal') return toNumber(value);
  const text = kind === 'text' ? toText(value) : undefined;
  const valid =
    text !== undefined && /^[+-]?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/.test(text);
  return valid ? Number(text) : undefined;
}

function toDecimalValue(value: PropertyValue): PropertyValue | undefined {
  const kind = KIND[value.type];
  if (kind !== 'integer' && kind !== 'double' && kind !== 'text') return undefined;
  const decimal =
    kind === 'double' ? decimalFromNumber(toNumber(value)) : parseDecimal(toText(value) ?? '');
  const bytes = decimal === undefined ? undefined : encodeDecimal(decimal);
  return bytes === undefined ? undefined : { type: 'decimal', value: bytes };
}

function toIntegerValue(
  value: PropertyValue,
  type: keyof typeof RANGES,
): PropertyValue | undefined {
  const whole = wholeNumber(value);
  const [smallest, largest] = RANGES[type];
  if (whole === undefined || whole < smallest || whole > largest) return undefined;
  if (type === 'long' || type === 'ulong') return { type, value: whole };
  return { type, value: Number(whole) };
}

function wholeNumber(value: PropertyValue): bigint | undefined {
  switch (KIND[value.type]) {
    case 'integer':
      return toInteger(value);
    case 'double': {
      const number = toNumber(value);
      return Number.isInteger(number) ? BigInt(number) : undefined;
    }
    case 'decimal': {
      const decimal = value.type === 'decimal' ? decodeDecimal(value.value) : undefined;
      return decimal === undefined ? undefined : decimalToInteger(decimal);
    }
    case 'text': {
      const text = toText(value) ?? '';
      return /^[+-]?\d{1,20}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
    }
    default:
      return undefined;
  }
}

function toInstant(
  value: PropertyValue,
  type: 'dateTime' | 'dateTimeOffset',
): PropertyValue | undefined {
  const ticks = KIND[value.type] === 'instant' ? ticksOf(value) : undefined;
  if (ticks === undefined) return undefined;
  return type === 'dateTime' ? { type, value: msOfTicks(ticks) } : { type, value: ticks };
}
