import type { PropertyValue } from './property-value.ts';

/**
 * A JSON number. Its spelling determines the type of a property, in headers and in JSON (semantics H10):
 * `7` is an int, `7.0` a double, and an integer beyond the range of int a long.
 */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const FRACTION_OR_EXPONENT = /[.eE]/;
/** Longer integers do not fit 64 bits, and parsing them would only cost time. */
const INTEGER_LENGTH_MAX = 20;
const NUMBER_LENGTH_MAX = 400;

const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/** Parses a number; `undefined` if it is not a number or does not fit 64 bits. */
export function numberProperty(text: string): PropertyValue | undefined {
  if (text.length > NUMBER_LENGTH_MAX || !NUMBER.test(text)) return undefined;
  if (FRACTION_OR_EXPONENT.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? { type: 'double', value } : undefined;
  }
  return text.length > INTEGER_LENGTH_MAX ? undefined : integerProperty(BigInt(text));
}

/** An integer as the narrowest of int, long and ulong; `undefined` if it fits none. */
function integerProperty(value: bigint): PropertyValue | undefined {
  if (isWithin(value, INT32_MAX)) return { type: 'int', value: Number(value) };
  if (isWithin(value, INT64_MAX)) return { type: 'long', value };
  return value > 0n && value <= UINT64_MAX ? { type: 'ulong', value } : undefined;
}

/** Whether a value lies in the signed range that ends at `max`. */
const isWithin = (value: bigint, max: bigint): boolean => value >= -max - 1n && value <= max;

/** Prints a finite double so that it parses as a double again: `7.0`, not `7`. */
export function doubleText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return FRACTION_OR_EXPONENT.test(text) ? text : `${text}.0`;
}
