import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { areEqual, compareValues, hasMember, type Item, kindOf } from './attribute-values.ts';
import { notSimulated, validationFailed } from './failures.ts';
import {
  type Path,
  type Placeholders,
  parsePath,
  parseValue,
  type Uses,
  valueAt,
} from './paths.ts';
import { textBytes } from './sizes.ts';
import { Tokens } from './tokens.ts';

/** The most comparisons, functions and logical words that the service accepts in one condition. */
const OPERATORS_MAX = 300;

/** Whether a condition holds for an item; undefined = the item does not exist. */
export type Condition = (item: Item | undefined, placeholders: Placeholders) => boolean;

type Operand = (item: Item | undefined, placeholders: Placeholders) => AttributeValue | undefined;

/** Parses a condition of the kinds that storage sends. */
export function parseCondition(expression: string, uses: Uses): Condition {
  const tokens = new Tokens(expression);
  if (tokens.operators > OPERATORS_MAX) {
    throw validationFailed(
      'Invalid ConditionExpression: The expression contains too many operators',
    );
  }
  const condition = parseOr(tokens, uses);
  if (!tokens.isEmpty) throw notSimulated(`the condition ${expression}`);
  return condition;
}

function parseOr(tokens: Tokens, uses: Uses): Condition {
  const parts = [parseAnd(tokens, uses)];
  while (tokens.takeIf('OR')) parts.push(parseAnd(tokens, uses));
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return (item, placeholders) => parts.some((part) => part(item, placeholders));
}

function parseAnd(tokens: Tokens, uses: Uses): Condition {
  const parts = [parseTerm(tokens, uses)];
  while (tokens.takeIf('AND')) parts.push(parseTerm(tokens, uses));
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return (item, placeholders) => parts.every((part) => part(item, placeholders));
}

function parseTerm(tokens: Tokens, uses: Uses): Condition {
  if (tokens.takeIf('(')) {
    const inner = parseOr(tokens, uses);
    tokens.expect(')');
    return inner;
  }
  if (tokens.isBeforeBracket && tokens.ahead?.text !== 'size') return parseFunction(tokens, uses);
  return parseComparison(tokens, uses);
}

function parseFunction(tokens: Tokens, uses: Uses): Condition {
  const { text } = tokens.take();
  tokens.expect('(');
  const path = parsePath(tokens, uses);
  const condition = functionOn(text, path, tokens, uses);
  tokens.expect(')');
  return condition;
}

function functionOn(name: string, path: Path, tokens: Tokens, uses: Uses): Condition {
  switch (name) {
    case 'attribute_exists':
      return (item, { names }) => valueAt(item, path, names) !== undefined;
    case 'attribute_not_exists':
      return (item, { names }) => valueAt(item, path, names) === undefined;
    case 'contains': {
      tokens.expect(',');
      const member = parseValue(tokens, uses);
      return (item, { names, values }) => {
        const whole = valueAt(item, path, names);
        return whole !== undefined && contains(whole, values[member] as AttributeValue);
      };
    }
    default:
      throw notSimulated(`the function ${name}`);
  }
}

function contains(whole: AttributeValue, part: AttributeValue): boolean {
  if (whole.S !== undefined) return part.S !== undefined && whole.S.includes(part.S);
  if (whole.L !== undefined) return whole.L.some((element) => areEqual(element, part));
  return hasMember(whole, part);
}

function parseComparison(tokens: Tokens, uses: Uses): Condition {
  const left = parseOperand(tokens, uses);
  if (tokens.takeIf('BETWEEN')) return parseBetween(left, tokens, uses);
  const sign = tokens.take().text;
  if (ORDERED.has(sign)) requireOrderedValue(tokens, uses);
  return comparison(sign, left, parseOperand(tokens, uses));
}

/** The comparisons that only texts, numbers and bytes have. */
const ORDERED: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

/** Requires that the placeholder after the sign of an ordered comparison, if there is one, has an order. */
function requireOrderedValue(tokens: Tokens, uses: Uses): void {
  if (tokens.ahead?.kind !== 'value') return;
  const { text } = tokens.ahead;
  uses.checks.push((values) => {
    const value = values[text];
    if (value === undefined || compareValues(value, value) !== undefined) return;
    throw validationFailed(
      `Invalid ConditionExpression: Incorrect operand type for operator or function; operand type: ${kindOf(value)}`,
    );
  });
}

function parseBetween(value: Operand, tokens: Tokens, uses: Uses): Condition {
  const low = parseValue(tokens, uses);
  tokens.expect('AND');
  const high = parseValue(tokens, uses);
  uses.checks.push((values) => requireBounds(values[low], values[high]));
  const isFromLow = comparison('>=', value, (_, { values }) => values[low]);
  const isToHigh = comparison('<=', value, (_, { values }) => values[high]);
  return (item, placeholders) => isFromLow(item, placeholders) && isToHigh(item, placeholders);
}

/** Throws ValidationException if the upper bound of a range is below the lower one. */
export function requireBounds(
  low: AttributeValue | undefined,
  high: AttributeValue | undefined,
): void {
  if (low !== undefined && high !== undefined && (compareValues(low, high) ?? 1) <= 0) return;
  throw validationFailed(
    'The BETWEEN operator requires upper bound to be greater than or equal to lower bound',
  );
}

function parseOperand(tokens: Tokens, uses: Uses): Operand {
  if (tokens.ahead?.kind === 'value') {
    const value = parseValue(tokens, uses);
    return (_, { values }) => values[value];
  }
  const isSize = tokens.isBeforeBracket && tokens.takeIf('SIZE');
  if (isSize) tokens.expect('(');
  const path = parsePath(tokens, uses);
  if (!isSize) return (item, { names }) => valueAt(item, path, names);
  tokens.expect(')');
  return (item, { names }) => {
    const value = valueAt(item, path, names);
    const size = value && sizeOf(value);
    return size === undefined ? undefined : { N: String(size) };
  };
}

/** The result of `size`; undefined = a value of this type has none. */
function sizeOf(value: AttributeValue): number | undefined {
  if (value.M !== undefined) return Object.keys(value.M).length;
  if (value.S !== undefined) return textBytes(value.S);
  return (value.B ?? value.L ?? value.NS ?? value.SS ?? value.BS)?.length;
}

/** A comparison with an absent value is false; only `<>` is true. */
function comparison(sign: string, left: Operand, right: Operand): Condition {
  const test = TESTS[sign];
  if (test === undefined) throw notSimulated(`the comparison ${sign}`);
  return (item, placeholders) => {
    const a = left(item, placeholders);
    const b = right(item, placeholders);
    if (a === undefined || b === undefined) return sign === '<>' && a !== b;
    return test(a, b);
  };
}

const TESTS: Readonly<Record<string, (a: AttributeValue, b: AttributeValue) => boolean>> = {
  '=': areEqual,
  '<>': (a, b) => !areEqual(a, b),
  '<': (a, b) => (compareValues(a, b) ?? 0) < 0,
  '<=': (a, b) => (compareValues(a, b) ?? 1) <= 0,
  '>': (a, b) => (compareValues(a, b) ?? 0) > 0,
  '>=': (a, b) => (compareValues(a, b) ?? -1) >= 0,
};
