import { BUDGETS } from '../../domain/budgets/budgets.ts';
import { type Fail, failAt } from '../filter-error.ts';
import { parsePredicate } from '../language/parse.ts';
import type { ComparisonOperator, Expression, Predicate } from '../language/syntax.ts';
import { SourceCache } from '../source-cache.ts';
import { compileValue, type Scope, type Source, textOf, type Value } from './compile-value.ts';
import { type LikeMatcher, likeMatcher } from './like.ts';
import { and, not, or, type Truth } from './truth.ts';
import { compareValues, isUnknown, KIND, type Operand } from './values.ts';

/** A compiled filter. Throws FilterError where an operand does not fit. */
export type Test = (scope: Scope) => Truth;

type NodeOf<K extends Predicate['kind']> = Extract<Predicate, { readonly kind: K }>;

const CACHE = new SourceCache<Test>();

/**
 * Compiles a filter, or takes it from the cache: the same text is evaluated for every message.
 * Parameters are no part of what is compiled. Throws FilterError for a text that is no filter.
 */
export function compileFilter(text: string): Test {
  return CACHE.get(text, () =>
    compilePredicate(parsePredicate(text), { text, errorName: 'FilterException' }),
  );
}

/** Turns a condition into a closure. */
function compilePredicate(node: Predicate, source: Source): Test {
  switch (node.kind) {
    case 'not': {
      const operand = compilePredicate(node.operand, source);
      return (scope) => not(operand(scope));
    }
    case 'and':
    case 'or':
      return compileLogic(node, source);
    case 'comparison':
      return compileComparison(node, source);
    case 'isNull': {
      const operand = compileValue(node.operand, source);
      const { negated } = node;
      return (scope) => isUnknown(operand(scope)) !== negated;
    }
    case 'exists': {
      // Present with a null value counts as present (semantics #107).
      const operand = compileValue(node.operand, source);
      return (scope) => operand(scope) !== undefined;
    }
    case 'in':
      return compileIn(node, source);
    case 'like':
      return compileLike(node, source);
  }
}

/**
 * AND and OR stop, like C#, as soon as the left side decides: what would be an error on the
 * right is then not met. An unknown left side decides nothing.
 */
function compileLogic(node: NodeOf<'and' | 'or'>, source: Source): Test {
  const left = compilePredicate(node.left, source);
  const right = compilePredicate(node.right, source);
  if (node.kind === 'and') {
    return (scope) => {
      const first = left(scope);
      return first === false ? false : and(first, right(scope));
    };
  }
  return (scope) => {
    const first = left(scope);
    return first === true ? true : or(first, right(scope));
  };
}

/** Whether an order satisfies an operator. NaN, no order at all, satisfies only `<>`. */
const HOLDS: Record<ComparisonOperator, (order: number) => boolean> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

function compileComparison(node: NodeOf<'comparison'>, source: Source): Test {
  const fail = failAt(source.text, node.at, source.errorName);
  const left = compileValue(node.left, source);
  const right = compileValue(node.right, source);
  const { operator } = node;
  const holds = HOLDS[operator];
  return (scope) => {
    const first = left(scope);
    const second = right(scope);
    if (isUnknown(first) || isUnknown(second)) return undefined;
    return holds(compareValues(first, second, operator, fail));
  };
}

/**
 * `x IN (a, b)` is `x = a OR x = b`, including its stop at the first hit, its errors and its
 * unknowns; an unknown x is unknown at once.
 */
function compileIn(node: NodeOf<'in'>, source: Source): Test {
  const fail = failAt(source.text, node.at, source.errorName);
  const operand = compileValue(node.operand, source);
  const list = node.list.map((element) => compileValue(element, source));
  const { negated } = node;
  return (scope) => {
    const value = operand(scope);
    if (isUnknown(value)) return undefined;
    let found: Truth = false;
    for (const element of list) {
      const candidate = element(scope);
      if (isUnknown(candidate)) found = undefined;
      else if (compareValues(value, candidate, '=', fail) === 0) return !negated;
    }
    return negated ? not(found) : found;
  };
}

function compileLike(node: NodeOf<'like'>, source: Source): Test {
  const fail = failAt(source.text, node.at, source.errorName);
  const operand = compileValue(node.operand, source);
  const matcherOf = compilePattern(node, source, fail);
  const { negated } = node;
  return (scope) => {
    const value = operand(scope);
    const matches = matcherOf(scope);
    if (isUnknown(value) || matches === undefined) return undefined;
    return matches(likeText(value, fail)) !== negated;
  };
}

/**
 * A constant pattern is prepared once, at its first use: its errors belong to evaluation. All of a
 * filter's constants together are no longer than the filter; what properties hold is bounded one by one.
 */
function compilePattern(
  node: NodeOf<'like'>,
  source: Source,
  fail: Fail,
): (scope: Scope) => LikeMatcher | undefined {
  const pattern = compileValue(node.pattern, source);
  const escapeValue = node.escape === undefined ? undefined : compileValue(node.escape, source);
  if (!isConstant(node.pattern) || (node.escape !== undefined && !isConstant(node.escape))) {
    const stepsMax = BUDGETS.filter.likeSteps;
    return (scope) => patternMatcher(pattern(scope), escapeValue, { scope, fail, stepsMax });
  }
  let prepared: { readonly matcher: LikeMatcher | undefined } | undefined;
  return (scope) => {
    prepared ??= { matcher: patternMatcher(pattern(scope), escapeValue, { scope, fail }) };
    return prepared.matcher;
  };
}

function isConstant(node: Expression): boolean {
  return node.kind === 'constant';
}

function patternMatcher(
  pattern: Operand,
  escapeValue: Value | undefined,
  { scope, fail, stepsMax }: { readonly scope: Scope; readonly fail: Fail; stepsMax?: number },
): LikeMatcher | undefined {
  const character = escapeValue?.(scope);
  if (isUnknown(pattern) || (escapeValue !== undefined && isUnknown(character))) return undefined;
  const escapeText = character === undefined ? undefined : likeText(character, fail);
  return likeMatcher(likeText(pattern, fail), escapeText, fail, stepsMax);
}

function likeText(value: Exclude<Operand, undefined>, fail: Fail): string {
  if (KIND[value.type] === 'text') return textOf(value);
  throw fail(`LIKE compares strings, not ${value.type}.`);
}
