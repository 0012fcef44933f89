import type { PropertyValue } from '../../domain/messages/property-value.ts';
import type { Fail } from '../filter-error.ts';
import { FILTER_LIMITS } from '../filter-limits.ts';
import type { ArithmeticOperator } from '../language/syntax.ts';
import { decimalArithmetic, encodeDecimal } from './decimal.ts';
import {
  INSTANT_MAX,
  isUnknown,
  KIND,
  msOfTicks,
  type Operand,
  ticksOf,
  toDecimal,
  toInteger,
  toNumber,
} from './values.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Applies an operator by the rules of C# (semantics R14, R15): integers compute as Int64, and division
 * truncates towards zero; an integer with a double gives a double; instants and time spans can be added and
 * subtracted. An unknown operand gives unknown. `fail` makes the FilterError that is thrown if the operation
 * is not defined. Our own choices, where the service's behaviour is unknown or the rule of C# does not help
 * the author of a filter:
 * - an integer result beyond Int64 is an error. C# wraps around, which would silently route messages wrongly;
 * - division by zero is an error for doubles too;
 * - decimal with double computes as double, as the literal 1.5 is a double;
 * - `+` joins two texts, but not a text and another type.
 */
export function arithmetic(
  operator: ArithmeticOperator,
  left: Operand,
  right: Operand,
  fail: Fail,
): Operand {
  if (isUnknown(left) || isUnknown(right)) return unknownOf(left, right);
  const kind = KIND[left.type];
  const other = KIND[right.type];
  if (kind === 'integer' && other === 'integer') return integers(operator, left, right, fail);
  if (isNumber(kind) && isNumber(other)) {
    const asDouble = kind === 'double' || other === 'double';
    return asDouble ? doubles(operator, left, right, fail) : decimals(operator, left, right, fail);
  }
  if (operator === '+' && kind === 'text' && other === 'text') return join(left, right, fail);
  const times =
    (operator === '+' || operator === '-') && instantsAndSpans(operator, left, right, fail);
  if (times) return times;
  throw fail(`the operator ${operator} is not defined between ${left.type} and ${right.type}.`);
}

/** Applies a sign. The negative of the smallest Int64 does not fit and is an error. */
export function signed(operator: '+' | '-', operand: Operand, fail: Fail): Operand {
  if (isUnknown(operand)) return operand;
  const kind = KIND[operand.type];
  if (isNumber(kind)) {
    // 0 - x converts x as all arithmetic does, and -0 keeps the sign of a double zero.
    const zero: PropertyValue =
      kind === 'double' ? { type: 'double', value: -0 } : { type: 'long', value: 0n };
    return arithmetic(operator === '-' ? '-' : '+', zero, operand, fail);
  }
  if (kind === 'span') {
    const ticks = ticksOf(operand) ?? 0n;
    return span(operator === '-' ? -ticks : ticks, fail);
  }
  throw fail(`the sign ${operator} is not defined for ${operand.type}.`);
}

function isNumber(kind: string): boolean {
  return kind === 'integer' || kind === 'double' || kind === 'decimal';
}

/** Keeps a missing property distinct from null, because SET from a missing one must fail. */
function unknownOf(left: Operand, right: Operand): Operand {
  return left === undefined || right === undefined ? undefined : { type: 'null' };
}

function integers(
  operator: ArithmeticOperator,
  left: PropertyValue,
  right: PropertyValue,
  fail: Fail,
): PropertyValue {
  const a = toInteger(left);
  const b = toInteger(right);
  if (a === undefined || b === undefined) throw fail('an integer property holds no whole number.');
  const value = integerResult(operator, a, b, fail);
  if (value < INT64_MIN || value > INT64_MAX) {
    throw fail(`the result of ${operator} does not fit in a 64-bit integer.`);
  }
  return { type: 'long', value };
}

function integerResult(operator: ArithmeticOperator, a: bigint, b: bigint, fail: Fail): bigint {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      if (b === 0n) throw fail('division by zero.');
      return operator === '/' ? a / b : a % b;
  }
}

function doubles(
  operator: ArithmeticOperator,
  left: PropertyValue,
  right: PropertyValue,
  fail: Fail,
): PropertyValue {
  const a = toNumber(left);
  const b = toNumber(right);
  return { type: 'double', value: doubleResult(operator, a, b, fail) };
}

function doubleResult(operator: ArithmeticOperator, a: number, b: number, fail: Fail): number {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      if (b === 0) throw fail('division by zero.');
      return operator === '/' ? a / b : a % b;
  }
}

function decimals(
  operator: ArithmeticOperator,
  left: PropertyValue,
  right: PropertyValue,
  fail: Fail,
): PropertyValue {
  const a = toDecimal(left);
  const b = toDecimal(right);
  if (a === undefined || b === undefined) throw fail('a decimal property holds no number.');
  const divides = operator === '/' || operator === '%';
  if (divides && b.coefficient === 0n) throw fail('division by zero.');
  const result = decimalArithmetic(operator, a, b);
  const value = result === undefined ? undefined : encodeDecimal(result);
  if (value === undefined) throw fail(`the result of ${operator} is too large for a decimal.`);
  return { type: 'decimal', value };
}

function join(left: PropertyValue, right: PropertyValue, fail: Fail): PropertyValue {
  const value = `${'value' in left ? left.value : ''}${'value' in right ? right.value : ''}`;
  // Without a limit, 32 statements `SET a = a + a` would make a text of gigabytes.
  if (value.length <= FILTER_LIMITS.textLength) return { type: 'string', value };
  throw fail(`a text may be ${FILTER_LIMITS.textLength} characters long at most.`);
}

/** The four combinations that C# defines; `undefined` for any other. */
function instantsAndSpans(
  operator: '+' | '-',
  left: PropertyValue,
  right: PropertyValue,
  fail: Fail,
): PropertyValue | undefined {
  const kinds = `${KIND[left.type]} ${operator} ${KIND[right.type]}`;
  const known = /^(?:instant - instant|instant [+-] span|span [+-] span)$/.test(kinds);
  if (!known) return undefined;
  const a = ticksOf(left);
  const b = ticksOf(right);
  if (a === undefined || b === undefined) throw fail('a dateTime property holds no instant.');
  const ticks = operator === '+' ? a + b : a - b;
  if (KIND[left.type] === 'span' || KIND[right.type] === 'instant') return span(ticks, fail);
  if (ticks < 0n || ticks > INSTANT_MAX) throw fail('the result is outside the years 1 to 9999.');
  return left.type === 'dateTime'
    ? { type: 'dateTime', value: msOfTicks(ticks) }
    : { type: 'dateTimeOffset', value: ticks };
}

function span(value: bigint, fail: Fail): PropertyValue {
  if (value >= INT64_MIN && value <= INT64_MAX) return { type: 'timeSpan', value };
  throw fail('the result is too long for a time span.');
}
