import { argumentError } from '../domain/broker-error.ts';
import { LIMITS } from '../domain/limits.ts';
import { requirePropertiesFit } from '../domain/messages/property-limits.ts';
import type { Properties } from '../domain/messages/property-value.ts';
import { type CorrelationFilter, conditionCount } from './correlation.ts';
import { findParameter } from './evaluation/compile-value.ts';
import { FilterError } from './filter-error.ts';
import { parseAction, parsePredicate } from './language/parse.ts';
import { tokenize } from './language/tokens.ts';

export type { CorrelationFilter } from './correlation.ts';

/** A filter in the SQL filter language (semantics R4). */
export interface SqlFilter {
  readonly kind: 'sql';
  readonly expression: string;
  /** Values of `@name`, by name with or without the `@`. */
  readonly parameters: Properties;
}

/** Which messages a rule selects (semantics R1). */
export type Filter =
  | SqlFilter
  | CorrelationFilter
  | { readonly kind: 'true' }
  | { readonly kind: 'false' };

/** What the service writes for the filters that select every message and none. */
export const TRUE_TEXT = '1=1';
export const FALSE_TEXT = '1=0';

/** The SET and REMOVE statements with which a rule changes its copy of a message (semantics R21). */
export interface RuleAction {
  readonly expression: string;
  /** Values of `@name`, by name with or without the `@`. */
  readonly parameters: Properties;
}

/** A rule of a subscription. On the wire an absent action is written as EmptyRuleAction. */
export interface Rule {
  readonly name: string;
  readonly filter: Filter;
  readonly action?: RuleAction;
  /** Epoch ms. */
  readonly createdAt: number;
}

/**
 * Throws ArgumentError for a rule that is too large (semantics M8) or could never run: an expression that is too long
 * (semantics #118, R11) or has a syntax error, too many statements, a parameter without a value, a correlation filter
 * without a condition. Also for an empty name of a property or parameter, at which the vendor's clients fail to read
 * all rules of the subscription. Errors that depend on the message, and unknown `sys.` names, occur at evaluation. The
 * error names line and column.
 */
export function validateRule(rule: Pick<Rule, 'filter' | 'action'>): void {
  const { filter, action } = rule;
  if (filter.kind === 'sql') {
    check('filter', filter.expression, filter.parameters, parsePredicate);
  }
  if (filter.kind === 'correlation' && conditionCount(filter) === 0) {
    throw argumentError('A correlation filter needs at least one condition.');
  }
  if (filter.kind === 'correlation') requireValues('properties of the filter', filter.properties);
  if (action !== undefined) check('action', action.expression, action.parameters, parseAction);
}

function requireValues(what: string, values: Properties): void {
  if (Object.hasOwn(values, '')) throw argumentError(`A name of the ${what} is empty.`);
  requirePropertiesFit(values, 0, `The ${what} are`);
}

function check(
  what: 'filter' | 'action',
  text: string,
  parameters: Properties,
  parse: (text: string) => unknown,
): void {
  if (text.length > LIMITS.filterTextLength) {
    throw argumentError(
      `The expression of the ${what} is ${text.length} characters long; ${LIMITS.filterTextLength} are allowed.`,
    );
  }
  requireValues(`parameters of the ${what}`, parameters);
  try {
    parse(text);
    requireParameters(text, parameters);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw argumentError(`The expression of the ${what} is not valid. ${error.message}`, error);
  }
}

/** Throws FilterError for a parameter without a value (semantics R9). */
function requireParameters(text: string, parameters: Properties): void {
  for (const token of tokenize(text)) {
    if (token.kind === 'parameter' && findParameter(parameters, token.text) === undefined) {
      throw new FilterError(`the parameter @${token.text} has no value.`, { text, at: token.at });
    }
  }
}
