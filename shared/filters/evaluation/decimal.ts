/**
 * A decimal of 34 digits: a value of IEEE decimal128 in the binary integer encoding, in which AMQP transfers
 * a .NET decimal. Infinity and NaN are not supported in filters and decode to `undefined`.
 */
export interface Decimal {
  readonly coefficient: bigint;
  /** The value is coefficient × 10^exponent. */
  readonly exponent: number;
}

const DIGITS = 34;
const BIAS = 6176;
const EXPONENT_MAX = 6111;
const COEFFICIENT_BITS = 113n;
const COEFFICIENT_MASK = (1n << COEFFICIENT_BITS) - 1n;

/** Decodes 16 bytes, most significant first; `undefined` for another length, infinity or NaN. */
export function decodeDecimal(bytes: Uint8Array): Decimal | undefined {
  if (bytes.length !== 16) return undefined;
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const top = Number((bits >> 122n) & 31n);
  if (top >= 0b11110) return undefined;
  // The second form of the encoding has only coefficients of more than 34 digits, which the standard reads as
  // 0.
  if (top >= 0b11000) return { coefficient: 0n, exponent: 0 };
  const magnitude = bits & COEFFICIENT_MASK;
  const exponent = Number((bits >> COEFFICIENT_BITS) & 0x3fffn) - BIAS;
  return { coefficient: bits >> 127n === 1n ? -magnitude : magnitude, exponent };
}

/**
 * Encodes to 16 bytes, most significant first, rounded to 34 digits; `undefined` if the value is too large.
 */
export function encodeDecimal(value: Decimal): Uint8Array | undefined {
  const rounded = roundDecimal(value);
  if (rounded === undefined) return undefined;
  const { coefficient, exponent } = rounded;
  const magnitude = coefficient < 0n ? -coefficient : coefficient;
  let bits = (BigInt(exponent + BIAS) << COEFFICIENT_BITS) | magnitude;
  if (coefficient < 0n) bits |= 1n << 127n;
  const bytes = new Uint8Array(16);
  for (let at = 15; at >= 0; at -= 1) {
    bytes[at] = Number(bits & 255n);
    bits >>= 8n;
  }
  return bytes;
}

/** Parses `-12.50` or `1.25E3`, rounded to 34 digits; `undefined` if the text is not a decimal. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^([+-]?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', power = '0'] = match;
  const magnitude = BigInt(whole + fraction);
  const exponent = Number(power) - fraction.length;
  return roundDecimal({ coefficient: sign === '-' ? -magnitude : magnitude, exponent });
}

/** The decimal of a double's shortest text, so that 0.1 becomes 0.1; `undefined` for infinity and NaN. */
export function decimalFromNumber(value: number): Decimal | undefined {
  return Number.isFinite(value) ? parseDecimal(String(value)) : undefined;
}

/** The nearest double. */
export function decimalToNumber(value: Decimal): number {
  return Number(`${value.coefficient}e${value.exponent}`);
}

/** The value of a decimal that is an integer; `undefined` if it is not. */
export function decimalToInteger(value: Decimal): bigint | undefined {
  if (value.exponent >= 0) {
    return value.exponent > DIGITS ? undefined : value.coefficient * tenTo(value.exponent);
  }
  const unit = tenTo(-value.exponent);
  return value.coefficient % unit === 0n ? value.coefficient / unit : undefined;
}

/** The text without an exponent, in the form of .NET. */
export function decimalToText({ coefficient, exponent }: Decimal): string {
  if (exponent >= 0) return `${coefficient}${coefficient === 0n ? '' : '0'.repeat(exponent)}`;
  const negative = coefficient < 0n;
  const digits = String(negative ? -coefficient : coefficient).padStart(1 - exponent, '0');
  const point = digits.length + exponent;
  return `${negative ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Negative, zero or positive, as the sign of `left - right`. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const [a, b] = aligned(...withoutFarPart(left, right));
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * One arithmetic operation, rounded to 34 digits, half to even; `undefined` if the result is too large. The
 * caller guarantees that `right` is not 0 for `/` and `%`.
 */
export function decimalArithmetic(
  operator: '+' | '-' | '*' | '/' | '%',
  left: Decimal,
  right: Decimal,
): Decimal | undefined {
  if (operator === '*') {
    return roundDecimal({
      coefficient: left.coefficient * right.coefficient,
      exponent: left.exponent + right.exponent,
    });
  }
  if (operator === '/') return divide(left, right);
  if (operator === '%') return remainder(left, right);
  const [near, far] = withoutFarPart(left, right);
  const [a, b] = aligned(near, far);
  const exponent = Math.min(near.exponent, far.exponent);
  return roundDecimal({ coefficient: operator === '+' ? a + b : a - b, exponent });
}

/**
 * Returns two numbers with the same order as the given ones, and the same sum and difference after rounding.
 * If one number is too small to affect any digit of the result, a larger number of the same sign replaces it,
 * which still decides the direction of rounding. Without this, 1E6111 + 1E-6176 would compute with 12,000
 * digits.
 */
function withoutFarPart(left: Decimal, right: Decimal): readonly [Decimal, Decimal] {
  if (left.coefficient !== 0n || right.coefficient !== 0n) {
    return [nearer(left, right), nearer(right, left)];
  }
  const zero = { coefficient: 0n, exponent: Math.min(left.exponent, right.exponent) };
  return [zero, zero];
}

function nearer(value: Decimal, other: Decimal): Decimal {
  const lowest = other.exponent - 2 * DIGITS;
  const { coefficient, exponent } = value;
  if (coefficient === 0n) {
    return { coefficient, exponent: Math.min(Math.max(exponent, lowest), other.exponent) };
  }
  if (other.coefficient === 0n || exponent + digitsOf(coefficient) >= lowest) return value;
  return { coefficient: coefficient < 0n ? -1n : 1n, exponent: lowest };
}

/** The remainder of a division, with the sign of the dividend. */
function remainder(left: Decimal, right: Decimal): Decimal | undefined {
  const exponent = Math.min(left.exponent, right.exponent);
  const gap = left.exponent - right.exponent;
  // The divisor is far larger than the dividend, so the remainder is the dividend.
  if (-gap > 2 * DIGITS) return roundDecimal(left);
  if (gap <= 0) {
    const [a, b] = aligned(left, right);
    return roundDecimal({ coefficient: a % b, exponent });
  }
  const scale = powerModulo(gap, right.coefficient);
  return roundDecimal({ coefficient: (left.coefficient * scale) % right.coefficient, exponent });
}

/** 10^power modulo `modulus`, by repeated squaring, since 10^power itself may have thousands of digits. */
function powerModulo(power: number, modulus: bigint): bigint {
  let result = 1n % modulus;
  let square = 10n % modulus;
  for (let rest = power; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

function divide(left: Decimal, right: Decimal): Decimal | undefined {
  // Enough extra digits that the remainder affects the rounding only by whether it is zero (the sticky
  // digit).
  const shift = DIGITS + 2 + digitsOf(right.coefficient);
  const scaled = left.coefficient * tenTo(shift);
  const quotient = scaled / right.coefficient;
  const inexact = scaled % right.coefficient !== 0n;
  const sticky = scaled < 0n === right.coefficient < 0n ? 1n : -1n;
  const exponent = left.exponent - right.exponent - shift;
  if (!inexact) return roundDecimal(shortened({ coefficient: quotient, exponent }));
  return roundDecimal({ coefficient: quotient * 10n + sticky, exponent: exponent - 1 });
}

/** Removes the trailing zeros that the scaling for a division has added. */
function shortened(value: Decimal): Decimal {
  let { coefficient, exponent } = value;
  while (exponent < 0 && coefficient !== 0n && coefficient % 10n === 0n) {
    coefficient /= 10n;
    exponent += 1;
  }
  return { coefficient, exponent: coefficient === 0n ? 0 : exponent };
}

/** Both coefficients, scaled to the smaller exponent. */
function aligned(left: Decimal, right: Decimal): readonly [bigint, bigint] {
  const gap = left.exponent - right.exponent;
  if (gap === 0) return [left.coefficient, right.coefficient];
  return gap > 0
    ? [left.coefficient * tenTo(gap), right.coefficient]
    : [left.coefficient, right.coefficient * tenTo(-gap)];
}

/** Rounds to 34 digits and brings the exponent into range; `undefined` = too large. */
function roundDecimal({ coefficient, exponent }: Decimal): Decimal | undefined {
  if (coefficient === 0n) {
    return { coefficient, exponent: Math.min(Math.max(exponent, -BIAS), EXPONENT_MAX) };
  }
  const excess = Math.max(digitsOf(coefficient) - DIGITS, -BIAS - exponent, 0);
  let rounded = excess === 0 ? coefficient : divideHalfEven(coefficient, tenTo(excess));
  let power = exponent + excess;
  // 99…9 may have been rounded up to one digit more; the last digit is then 0.
  if (digitsOf(rounded) > DIGITS) {
    rounded /= 10n;
    power += 1;
  }
  if (power > EXPONENT_MAX) {
    const padding = power - EXPONENT_MAX;
    if (digitsOf(rounded) + padding > DIGITS) return undefined;
    return { coefficient: rounded * tenTo(padding), exponent: EXPONENT_MAX };
  }
  return { coefficient: rounded, exponent: power };
}

function divideHalfEven(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  const rest = value % unit;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  if (twice < unit || (twice === unit && quotient % 2n === 0n)) return quotient;
  return quotient + (value < 0n ? -1n : 1n);
}

function digitsOf(value: bigint): number {
  return String(value < 0n ? -value : value).length;
}

function tenTo(power: number): bigint {
  return 10n ** BigInt(power);
}
