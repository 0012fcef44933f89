import type { Item } from './attribute-values.ts';
import { parseCondition } from './conditions.ts';
import { validationFailed } from './failures.ts';
import { parseKeyCondition } from './key-conditions.ts';
import type { Placeholders, Uses } from './paths.ts';
import { parseProjection } from './projections.ts';
import { textBytes } from './sizes.ts';
import { storableItem } from './storable-values.ts';
import { parseUpdate } from './updates.ts';

/** How many parsed expressions of each kind are cached; the oldest is dropped first. */
const KEPT_MAX = 10_000;
/** The longest expression that the service accepts, in bytes. */
const EXPRESSION_BYTES_MAX = 4096;

/** A parsed expression with the placeholders it uses. */
export interface Parsed<Meaning> {
  readonly meaning: Meaning;
  readonly names: readonly string[];
  readonly values: readonly string[];
  readonly checks: Uses['checks'];
}

/** Parses expressions, with a cache. */
function cached<Meaning>(
  parse: (expression: string, uses: Uses) => Meaning,
): (expression: string) => Parsed<Meaning> {
  const kept = new Map<string, Parsed<Meaning>>();
  return (expression) => {
    const known = kept.get(expression);
    if (known !== undefined) return known;
    if (textBytes(expression) > EXPRESSION_BYTES_MAX) {
      throw validationFailed(
        `Expression size has exceeded the maximum allowed size; expression size: ${textBytes(expression)}`,
      );
    }
    const uses: Uses = { names: new Set(), values: new Set(), checks: [] };
    const meaning = parse(expression, uses);
    const { checks } = uses;
    const parsed = { meaning, names: [...uses.names], values: [...uses.values], checks };
    for (const oldest of kept.keys()) {
      if (kept.size < KEPT_MAX) break;
      kept.delete(oldest);
    }
    kept.set(expression, parsed);
    return parsed;
  };
}

/** A condition, parsed. */
export const conditionOf = cached(parseCondition);
/** An update, parsed. */
export const updateOf = cached(parseUpdate);
/** A key condition, parsed. */
export const keyConditionOf = cached(parseKeyCondition);
/** A projection, parsed. */
export const projectionOf = cached(parseProjection);

/** The placeholders as a request gives them. */
export interface GivenPlaceholders {
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Item | undefined;
}

/**
 * The placeholders of a request. Throws ValidationException if an expression uses one that is not given,
 * if no expression uses one that is given, or if the bounds of a range are in the wrong order.
 */
export function placeholdersOf(
  { ExpressionAttributeNames: names, ExpressionAttributeValues: values }: GivenPlaceholders,
  used: readonly (Parsed<unknown> | undefined)[],
): Placeholders {
  requireAll('Names', names ?? NONE, used, 'names');
  requireAll('Values', values ?? NONE, used, 'values');
  const taken = values === undefined ? NONE : storableItem(values);
  for (const parsed of used) for (const check of parsed?.checks ?? []) check(taken);
  return { names: names ?? NONE, values: taken };
}

const NONE = {};

function requireAll(
  what: 'Names' | 'Values',
  given: Readonly<Record<string, unknown>>,
  used: readonly (Parsed<unknown> | undefined)[],
  kind: 'names' | 'values',
): void {
  for (const parsed of used) {
    for (const placeholder of parsed?.[kind] ?? []) {
      if (given[placeholder] !== undefined) continue;
      throw validationFailed(
        `An expression attribute ${what} used in expression is not defined: ${placeholder}`,
      );
    }
  }
  let count = 0;
  for (const placeholder in given) {
    if (given[placeholder] === undefined) continue;
    count++;
    if (used.some((parsed) => parsed?.[kind].includes(placeholder))) continue;
    throw validationFailed(
      `Value provided in ExpressionAttribute${what} unused in expressions: keys: {${placeholder}}`,
    );
  }
  if (count === 0 && given !== NONE) {
    throw validationFailed(`ExpressionAttribute${what} must not be empty`);
  }
}
