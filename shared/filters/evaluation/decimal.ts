/**
 * Decimals of 34 digits: the values of decimal128 in its binary integer encoding, which is how
 * AMQP carries a .NET decimal. Infinity and NaN have no place in a filter and decode to `undefined`.
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

/** Reads 16 bytes, most significant first. */
export function decodeDecimal(bytes: Uint8Array): Decimal | undefined {
  if (bytes.length !== 16) return undefined;
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const top = Number((bits >> 122n) & 31n);
  if (top >= 0b11110) return undefined;
  // The other long form only holds coefficients of more than 34 digits, which the standard reads as 0.
  if (top >= 0b11000) return { coefficient: 0n, exponent: 0 };
  const magnitude = bits & COEFFICIENT_MASK;
  const exponent = Number((bits >> COEFFICIENT_BITS) & 0x3fffn) - BIAS;
  return { coefficient: bits >> 127n === 1n ? -magnitude : magnitude, exponent };
}

/** Writes 16 bytes; `undefined` where the value is too large. */
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

/** Reads `-12.50` or `1.25E3` exactly; `undefined` if it is none. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^([+-]?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', power = '0'] = match;
  const magnitude = BigInt(whole + fraction);
  const exponent = Number(power) - fraction.length;
  return roundDecimal({ coefficient: sign === '-' ? -magnitude : magnitude, exponent });
}

/** The exact decimal of the shortest text of a double: 0.1 is 0.1. */
export function decimalFromNumber(value: number): Decimal | undefined {
  return Number.isFinite(value) ? parseDecimal(String(value)) : undefined;
}

/** Nearest double. */
export function decimalToNumber(value: Decimal): number {
  return Number(`${value.coefficient}e${value.exponent}`);
}

/** The whole number a decimal is, if it is one. */
export function decimalToInteger(value: Decimal): bigint | undefined {
  if (value.exponent >= 0) {
    return value.exponent > DIGITS ? undefined : value.coefficient * tenTo(value.exponent);
  }
  const unit = tenTo(-value.exponent);
  return value.coefficient % unit === 0n ? value.coefficient / unit : undefined;
}

/** Plain notation, as .NET writes it. */
export function decimalToText({ coefficient, exponent }: Decimal): string {
  if (exponent >= 0) return `${coefficient}${coefficient === 0n ? '' : '0'.repeat(exponent)}`;
  const negative = coefficient < 0n;
  const digits = String(negative ? -coefficient : coefficient).padStart(1 - exponent, '0');
  const point = digits.length + exponent;
  return `${negative ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Negative, zero or positive, like the difference. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const [a, b] = aligned(...withoutFarPart(left, right));
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * One step of arithmetic, rounded to 34 digits, half to even; `undefined` where the result is too
 * large. The caller has made sure that `right` is not 0 in a division.
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
 * Two numbers whose sum, difference and order are those of the two given, once rounded. Where one lies so
 * far below the other that no digit of it can be seen, a small one of the same sign takes its place: it
 * still says to which side a rounding goes. Otherwise 1E6111 + 1E-6176 computes with 12,000 digits.
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

/** What is left of a division; its sign is that of the dividend. */
function remainder(left: Decimal, right: Decimal): Decimal | undefined {
  const exponent = Math.min(left.exponent, right.exponent);
  const gap = left.exponent - right.exponent;
  // The divisor is far above the dividend, which is left as a whole.
  if (-gap > 2 * DIGITS) return roundDecimal(left);
  if (gap <= 0) {
    const [a, b] = aligned(left, right);
    return roundDecimal({ coefficient: a % b, exponent });
  }
  const scale = powerModulo(gap, right.coefficient);
  return roundDecimal({ coefficient: (left.coefficient * scale) % right.coefficient, exponent });
}

/** 10^power modulo a number, by squaring: the power itself may have thousands of digits. */
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
  // Enough extra digits that what is cut off cannot change the rounding, except by being there at all.
  const shift = DIGITS + 2 + digitsOf(right.coefficient);
  const scaled = left.coefficient * tenTo(shift);
  const quotient = scaled / right.coefficient;
  const inexact = scaled % right.coefficient !== 0n;
  const sticky = scaled < 0n === right.coefficient < 0n ? 1n : -1n;
  const exponent = left.exponent - right.exponent - shift;
  if (!inexact) return roundDecimal(shortened({ coefficient: quotient, exponent }));
  return roundDecimal({ coefficient: quotient * 10n + sticky, exponent: exponent - 1 });
}

/** Without the zeros that scaling for a division put at the end. */
function shortened(value: Decimal): Decimal {
  let { coefficient, exponent } = value;
  while (exponent < 0 && coefficient !== 0n && coefficient % 10n === 0n) {
    coefficient /= 10n;
    exponent += 1;
  }
  return { coefficient, exponent: coefficient === 0n ? 0 : exponent };
}

/** Both coefficients at the smaller exponent. */
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
  // 99…9 may have rounded up to one digit more, whose last one is then 0.
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
