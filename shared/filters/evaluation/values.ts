import type { PropertyType, PropertyValue } from '../../domain/messages/property-value.ts';
import type { Fail } from '../filter-error.ts';
import type { ComparisonOperator } from '../language/syntax.ts';
import { compareDecimals, type Decimal, decimalToNumber, decodeDecimal } from './decimal.ts';

/**
 * The groups of property types that operators treat alike (semantics R14, R16): all integers are converted to
 * Int64 as in C#, and float to double. Our own choices, where the service's behaviour is unknown: char and
 * uri are texts; dateTime and dateTimeOffset are instants and can be compared with each other.
 */
export type ValueKind =
  | 'null'
  | 'boolean'
  | 'text'
  | 'guid'
  | 'integer'
  | 'double'
  | 'decimal'
  | 'instant'
  | 'span'
  | 'bytes';

/** The kind of each type. */
export const KIND = {
  null: 'null',
  boolean: 'boolean',
  string: 'text',
  char: 'text',
  uri: 'text',
  guid: 'guid',
  byte: 'integer',
  sbyte: 'integer',
  short: 'integer',
  ushort: 'integer',
  int: 'integer',
  uint: 'integer',
  long: 'integer',
  ulong: 'integer',
  float: 'double',
  double: 'double',
  decimal: 'decimal',
  dateTime: 'instant',
  dateTimeOffset: 'instant',
  timeSpan: 'span',
  bytes: 'bytes',
} as const satisfies Record<PropertyType, ValueKind>;

/** The value of an operand; `undefined` = the message has no such property. */
export type Operand = PropertyValue | undefined;

/** A tick is 100 ns. */
export const TICKS_PER_MS = 10_000n;
/** Ticks from 0001-01-01, the origin in .NET, to 1970-01-01. */
export const EPOCH_TICKS = 621_355_968_000_000_000n;
/** Ticks of the last instant in .NET. */
export const INSTANT_MAX = 3_155_378_975_999_999_999n;
/** Ticks of the longest time span, which means "unlimited". */
export const SPAN_MAX = 2n ** 63n - 1n;

/**
 * Whether an operand makes the result of an operator unknown: a missing property or null (semantics #105, #111).
 */
export function isUnknown(value: Operand): value is undefined | { readonly type: 'null' } {
  return value === undefined || value.type === 'null';
}

/**
 * Compares two values: negative, 0 or positive; NaN if one is not a number. Throws FilterError if C# has no
 * such operator, for instance between a string and a number: a numeric string is not converted (semantics
 * R14, R17). Some comparisons go beyond C#, since the filter language has no other way to write them:
 * - decimal with double compares as double, as the literal 1.5 is a double;
 * - a guid equals its text, in any case and with or without braces; any other text is not equal;
 * - strings have an order, by UTF-16 unit.
 */
export function compareValues(
  left: PropertyValue,
  right: PropertyValue,
  operator: ComparisonOperator,
  fail: Fail,
): number {
  const order = orderOf(left, right);
  const onlyEqual = left.type === 'boolean' || left.type === 'guid' || right.type === 'guid';
  if (order === undefined || (onlyEqual && operator !== '=' && operator !== '<>')) {
    throw fail(`the operator ${operator} is not defined between ${left.type} and ${right.type}.`);
  }
  return order;
}

/** Compares two values as `compareValues` does; `undefined` if they cannot be compared. */
export function orderOf(left: PropertyValue, right: PropertyValue): number | undefined {
  const kind = KIND[left.type];
  const other = KIND[right.type];
  if (isNumeric(kind) && isNumeric(other)) return compareNumbers(left, right);
  if (kind === 'guid' || other === 'guid') return compareGuids(left, right);
  if (kind !== other || kind === 'bytes' || kind === 'null') return undefined;
  if (kind === 'instant') return sign(ticksOf(left) ?? Number.NaN, ticksOf(right) ?? Number.NaN);
  return sign(payload(left), payload(right));
}

function isNumeric(kind: ValueKind): boolean {
  return kind === 'integer' || kind === 'double' || kind === 'decimal';
}

function compareNumbers(left: PropertyValue, right: PropertyValue): number | undefined {
  const kind = KIND[left.type];
  const other = KIND[right.type];
  // The common case: JavaScript compares a number with a bigint exactly, without conversion.
  if (kind === 'integer' && other === 'integer') return sign(payload(left), payload(right));
  if (kind === 'double' || other === 'double') return sign(toNumber(left), toNumber(right));
  const [a, b] = [toDecimal(left), toDecimal(right)];
  return a === undefined || b === undefined ? Number.NaN : compareDecimals(a, b);
}

function compareGuids(left: PropertyValue, right: PropertyValue): number | undefined {
  const [a, b] = [guidText(left), guidText(right)];
  if (a === undefined || b === undefined) return undefined;
  return a === b ? 0 : 1;
}

/** The lower-case text of a guid, or of a text that may be one, without braces. */
function guidText(value: PropertyValue): string | undefined {
  if (KIND[value.type] !== 'guid' && KIND[value.type] !== 'text') return undefined;
  return String(payload(value))
    .toLowerCase()
    .replace(/^\{(.*)\}$/, '$1');
}

type Plain = string | number | bigint | boolean;

function payload(value: PropertyValue): Plain {
  const inner = value.type === 'null' ? 0 : value.value;
  return typeof inner === 'object' ? 0 : inner;
}

/** Compares plain values. A number and a bigint may be mixed, but not a text and a number. */
function sign(left: Plain, right: Plain): number {
  if (left < right) return -1;
  if (left > right) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: 1 and 1n are the same value here, NaN is none.
  return left == right ? 0 : Number.NaN;
}

/** A numeric value as a double; NaN for a decimal that is not a number. */
export function toNumber(value: PropertyValue): number {
  if (value.type !== 'decimal') return Number(payload(value));
  const decimal = decodeDecimal(value.value);
  return decimal === undefined ? Number.NaN : decimalToNumber(decimal);
}

/** An integer or decimal value as a decimal; `undefined` if it is not a number. */
export function toDecimal(value: PropertyValue): Decimal | undefined {
  if (value.type === 'decimal') return decodeDecimal(value.value);
  const coefficient = toInteger(value);
  return coefficient === undefined ? undefined : { coefficient, exponent: 0 };
}

/** An integer value as a bigint; `undefined` if a sender stored a fraction under an integer type. */
export function toInteger(value: PropertyValue): bigint | undefined {
  const inner = payload(value);
  if (typeof inner === 'bigint') return inner;
  return Number.isSafeInteger(inner) ? BigInt(inner) : undefined;
}

/**
 * The ticks of an instant since 0001-01-01, or of a time span; `undefined` if a dateTime is no whole number
 * of ms.
 */
export function ticksOf(value: PropertyValue): bigint | undefined {
  const inner = payload(value);
  if (typeof inner === 'bigint') return inner;
  return Number.isSafeInteger(inner) ? BigInt(inner) * TICKS_PER_MS + EPOCH_TICKS : undefined;
}

/** Epoch ms of ticks since 0001-01-01; fractions of a ms are cut off. */
export function msOfTicks(ticks: bigint): number {
  return Number((ticks - EPOCH_TICKS) / TICKS_PER_MS);
}
