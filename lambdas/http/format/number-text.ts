import type { PropertyValue } from '../../../shared/domain/messages/property-value.ts';

/**
 * Numbers as text, where the spelling carries the type: `7` is an int, `7.0` a double, and what no
 * int holds is a long. Property headers and JSON share these rules (semantics H10).
 */

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const FRACTION_OR_EXPONENT = /[.eE]/;
/** Longer texts fit no 64 bits; reading them would only cost time. */
const INTEGER_LENGTH_MAX = 20;
const NUMBER_LENGTH_MAX = 400;

const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/** The property a number's text stands for; `undefined` if it is no number or fits no 64 bits. */
export function numberProperty(text: string): PropertyValue | undefined {
  if (text.length > NUMBER_LENGTH_MAX || !NUMBER.test(text)) return undefined;
  if (FRACTION_OR_EXPONENT.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? { type: 'double', value } : undefined;
  }
  return text.length > INTEGER_LENGTH_MAX ? undefined : integerProperty(BigInt(text));
}

/** The narrowest of int, long and ulong that holds an integer; `undefined` if none does. */
export function integerProperty(value: bigint): PropertyValue | undefined {
  if (isWithin(value, INT32_MAX)) return { type: 'int', value: Number(value) };
  if (isWithin(value, INT64_MAX)) return { type: 'long', value };
  return value > 0n && value <= UINT64_MAX ? { type: 'ulong', value } : undefined;
}

/** Whether a value lies in the signed range that ends at `max`. */
const isWithin = (value: bigint, max: bigint): boolean => value >= -max - 1n && value <= max;

/** A finite double so that it reads back as one: `7.0`, not `7`. */
export function doubleText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return FRACTION_OR_EXPONENT.test(text) ? text : `${text}.0`;
}
