import { validationFailed } from './failures.ts';

/** Numbers as the service stores them: decimal, exact, up to 38 significant digits. */

const DIGITS_MAX = 38;
/** Allowed powers of ten of the first digit. */
const MAGNITUDE = { min: -130, max: 125 } as const;

/** Integers that a JavaScript number represents exactly: the usual case. */
const SHORT = /^(?:0|-?[1-9]\d{0,14})$/;
/** Up to this length, different decimals are different JavaScript numbers. */
const EXACT_LENGTH = 15;
const NUMBER = /^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<part>\d*))?(?:[eE](?<power>[+-]?\d+))?$/;

/** ± digits × 10^power, without zeroes at either end of the digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly power: number;
}

/** The one form in which the service stores a number. Throws ValidationException. */
export function canonicalNumber(text: string): string {
  if (text.length <= EXACT_LENGTH && SHORT.test(text)) return text;
  return printed(parse(text));
}

/** Negative, zero or positive; both in canonical form. */
export function compareNumbers(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length <= EXACT_LENGTH && b.length <= EXACT_LENGTH) return Number(a) - Number(b);
  const [left, right] = scaled(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The exact sum, in canonical form. Throws ValidationException if it has too many digits. */
export function addNumbers(a: string, b: string): string {
  if (SHORT.test(a) && SHORT.test(b)) return String(Number(a) + Number(b));
  const [left, right, power] = scaled(a, b);
  return canonicalNumber(`${left + right}e${power}`);
}

/** How many significant digits a canonical number has. */
export function significantDigits(text: string): number {
  let start = 0;
  let end = text.length;
  let points = 0;
  for (; start < end && isPadding(text.charCodeAt(start)); start++);
  for (; end > start && isPadding(text.charCodeAt(end - 1)); end--);
  for (let i = start; i < end; i++) if (text.charCodeAt(i) === POINT) points++;
  return end - start - points;
}

const ZERO = 48;
const POINT = 46;
const MINUS = 45;

function isPadding(code: number): boolean {
  return code === ZERO || code === POINT || code === MINUS;
}

function parse(text: string): Decimal {
  const groups = NUMBER.exec(text)?.groups;
  const whole = groups?.['whole'] ?? '';
  const part = groups?.['part'] ?? '';
  if (groups === undefined || whole.length + part.length === 0) {
    throw validationFailed(
      `The parameter cannot be converted to a numeric value: ${text || 'empty'}`,
    );
  }
  const significant = `${whole}${part}`.replace(/^0+/, '');
  const digits = significant.replace(/0+$/, '');
  if (digits === '') return { isNegative: false, digits: '0', power: 0 };
  const power = Number(groups['power'] ?? 0) - part.length + (significant.length - digits.length);
  requireStorable(digits, power);
  return { isNegative: groups['sign'] === '-', digits, power };
}

function requireStorable(digits: string, power: number): void {
  if (digits.length > DIGITS_MAX) {
    throw validationFailed('Attempting to store more than 38 significant digits in a Number');
  }
  const magnitude = power + digits.length - 1;
  if (magnitude > MAGNITUDE.max || magnitude < MAGNITUDE.min) {
    throw validationFailed(
      'Number overflow. Attempting to store a number with magnitude outside of the supported range',
    );
  }
}

function printed({ isNegative, digits, power }: Decimal): string {
  const sign = isNegative ? '-' : '';
  if (power >= 0) return `${sign}${digits}${'0'.repeat(power)}`;
  const padded = digits.padStart(1 - power, '0');
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
}

/** Both numbers as multiples of one power of ten. */
function scaled(a: string, b: string): readonly [bigint, bigint, number] {
  const [left, right] = [parse(a), parse(b)];
  const power = Math.min(left.power, right.power);
  return [multiple(left, power), multiple(right, power), power];
}

function multiple({ isNegative, digits, power }: Decimal, unit: number): bigint {
  const value = BigInt(digits) * 10n ** BigInt(power - unit);
  return isNegative ? -value : value;
}
