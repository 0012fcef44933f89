import { BUDGETS } from '../../domain/budgets/budgets.ts';
import { type Fail, failAt } from '../filter-error.ts';
import { parsePredicate } from '../language/parse.ts';
import type { ComparisonOperator, Expression, Predicate } from '../language/syntax.ts';
import { SourceCache } from '../source-cache.ts';
import {
  type CompiledValue,
  type Context,
  compileValue,
  type Source,
  textOf,
} from './compile-value.ts';
import { type LikeMatcher, likeMatcher } from './like.ts';
import { and, not, or, type Truth } from './truth.ts';
import { compareValues, isUnknown, KIND, type Operand } from './values.ts';

/** A compiled filter. Throws FilterError if the types of operands do not fit. */
export type CompiledFilter = (context: Context) => Truth;

type NodeOf<K extends Predicate['kind']> = Extract<Predicate, { readonly kind: K }>;

const CACHE = new SourceCache<CompiledFilter>();

/**
 * Compiles a filter, or takes it from the cache, since the same text is evaluated for every message.
 * Parameters are an input of the compiled filter. Throws FilterError for a text that is not a valid filter.
 */
export function compileFilter(text: string): CompiledFilter {
  return CACHE.get(text, () =>
    compilePredicate(parsePredicate(text), { text, errorName: 'FilterException' }),
  );
}

/** Compiles a condition into a closure. */
function compilePredicate(node: Predicate, source: Source): CompiledFilter {
  switch (node.kind) {
    case 'not': {
      const operand = compilePredicate(node.operand, source);
      return (context) => not(operand(context));
    }
    case 'and':
    case 'or':
      return compileLogic(node, source);
    case 'comparison':
      return compileComparison(node, source);
    case 'isNull': {
      // Never unknown (semantics R13).
      const operand = compileValue(node.operand, source);
      const { negated } = node;
      return (context) => isUnknown(operand(context)) !== negated;
    }
    case 'exists': {
      // A property with a null value exists (semantics #107).
      const operand = compileValue(node.operand, source);
      return (context) => operand(context) !== undefined;
    }
    case 'in':
      return compileIn(node, source);
    case 'like':
      return compileLike(node, source);
  }
}

/**
 * AND and OR short-circuit as in C#: if the left side decides, the right side is not evaluated and its errors
 * do not occur. An unknown left side decides nothing.
 */
function compileLogic(node: NodeOf<'and' | 'or'>, source: Source): CompiledFilter {
  const left = compilePredicate(node.left, source);
  const right = compilePredicate(node.right, source);
  if (node.kind === 'and') {
    return (context) => {
      const first = left(context);
      return first === false ? false : and(first, right(context));
    };
  }
  return (context) => {
    const first = left(context);
    return first === true ? true : or(first, right(context));
  };
}

/** Whether the result of a comparison satisfies an operator. NaN (no order) satisfies only `<>`. */
const HOLDS: Record<ComparisonOperator, (order: number) => boolean> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

function compileComparison(node: NodeOf<'comparison'>, source: Source): CompiledFilter {
  const fail = failAt(source.text, node.at, source.errorName);
  const left = compileValue(node.left, source);
  const right = compileValue(node.right, source);
  const { operator } = node;
  const holds = HOLDS[operator];
  return (context) => {
    const first = left(context);
    const second = right(context);
    if (isUnknown(first) || isUnknown(second)) return undefined;
    return holds(compareValues(first, second, operator, fail));
  };
}

/**
 * `x IN (a, b)` means `x = a OR x = b`, with the same short circuit, errors and unknowns. If x is unknown, so
 * is the result, without evaluation of the list, for NOT IN too (semantics #108).
 */
function compileIn(node: NodeOf<'in'>, source: Source): CompiledFilter {
  const fail = failAt(source.text, node.at, source.errorName);
  const operand = compileValue(node.operand, source);
  const list = node.list.map((element) => compileValue(element, source));
  const { negated } = node;
  return (context) => {
    const value = operand(context);
    if (isUnknown(value)) return undefined;
    let found: Truth = false;
    for (const element of list) {
      const candidate = element(context);
      if (isUnknown(candidate)) found = undefined;
      else if (compareValues(value, candidate, '=', fail) === 0) return !negated;
    }
    return negated ? not(found) : found;
  };
}

function compileLike(node: NodeOf<'like'>, source: Source): CompiledFilter {
  const fail = failAt(source.text, node.at, source.errorName);
  const operand = compileValue(node.operand, source);
  const matcherOf = compilePattern(node, source, fail);
  const { negated } = node;
  return (context) => {
    const value = operand(context);
    const matches = matcherOf(context);
    if (isUnknown(value) || matches === undefined) return undefined;
    return matches(likeText(value, fail)) !== negated;
  };
}

/**
 * A constant pattern is compiled once, at its first use, since its errors must occur during evaluation. Only
 * computed patterns have a limit of steps: all constants of a filter together are no longer than the filter,
 * but a property may hold a long pattern.
 */
function compilePattern(
  node: NodeOf<'like'>,
  source: Source,
  fail: Fail,
): (context: Context) => LikeMatcher | undefined {
  const pattern = compileValue(node.pattern, source);
  const escapeValue = node.escape === undefined ? undefined : compileValue(node.escape, source);
  if (!isConstant(node.pattern) || (node.escape !== undefined && !isConstant(node.escape))) {
    const stepsMax = BUDGETS.filter.likeSteps;
    return (context) => patternMatcher(pattern(context), escapeValue, { context, fail, stepsMax });
  }
  let prepared: { readonly matcher: LikeMatcher | undefined } | undefined;
  return (context) => {
    prepared ??= { matcher: patternMatcher(pattern(context), escapeValue, { context, fail }) };
    return prepared.matcher;
  };
}

function isConstant(node: Expression): boolean {
  return node.kind === 'constant';
}

function patternMatcher(
  pattern: Operand,
  escapeValue: CompiledValue | undefined,
  {
    context,
    fail,
    stepsMax,
  }: { readonly context: Context; readonly fail: Fail; stepsMax?: number },
): LikeMatcher | undefined {
  const character = escapeValue?.(context);
  if (isUnknown(pattern) || (escapeValue !== undefined && isUnknown(character))) return undefined;
  const escapeText = character === undefined ? undefined : likeText(character, fail);
  return likeMatcher(likeText(pattern, fail), escapeText, fail, stepsMax);
}

function likeText(value: Exclude<Operand, undefined>, fail: Fail): string {
  if (KIND[value.type] === 'text') return textOf(value);
  throw fail(`LIKE compares strings, not ${value.type}.`);
}
