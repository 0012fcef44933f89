import type { StoredRule } from '../../../shared/broker/ports/management.ts';
import {
  type CorrelationFilter,
  FALSE_TEXT,
  type Filter,
  type RuleAction,
  TRUE_TEXT,
} from '../../../shared/filters/rule.ts';
import { isoDate } from '../format/date-text.ts';
import { printRuleValues } from './rule-values.ts';

/**
 * Prints a rule as JSON, from which `readRule` reads the same: an expression without parameters is a text. It is text,
 * not an object, since JSON.stringify cannot print the types of values.
 */
export function printRule({ rule, updatedAt }: Pick<StoredRule, 'rule' | 'updatedAt'>): string {
  const { name, filter, action, createdAt } = rule;
  return printObject([
    ['name', JSON.stringify(name)],
    filter.kind === 'correlation'
      ? ['correlation', printCorrelation(filter)]
      : ['sql', printFilter(filter)],
    ['action', action && printExpression(action)],
    ['createdAt', JSON.stringify(isoDate(createdAt))],
    ['modifiedAt', JSON.stringify(isoDate(updatedAt))],
  ]);
}

function printFilter(filter: Exclude<Filter, CorrelationFilter>): string {
  switch (filter.kind) {
    case 'true':
      return JSON.stringify(TRUE_TEXT);
    case 'false':
      return JSON.stringify(FALSE_TEXT);
    case 'sql': {
      // As a text these are the filters for every message and for none.
      const { expression, parameters } = filter;
      const isPlain = Object.keys(parameters).length === 0;
      const isOther = isPlain && (expression === TRUE_TEXT || expression === FALSE_TEXT);
      return isOther ? JSON.stringify({ expression }) : printExpression(filter);
    }
  }
}

function printExpression({ expression, parameters }: RuleAction): string {
  if (Object.keys(parameters).length === 0) return JSON.stringify(expression);
  return printObject([
    ['expression', JSON.stringify(expression)],
    ['parameters', printRuleValues(parameters)],
  ]);
}

function printCorrelation({ kind: _, label, properties, ...system }: CorrelationFilter): string {
  const conditions = Object.entries({ subject: label, ...system }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, JSON.stringify(text)] as const],
  );
  const hasProperties = Object.keys(properties).length > 0;
  return printObject([
    ...conditions,
    ['properties', hasProperties ? printRuleValues(properties) : undefined],
  ]);
}

/** Prints an object of printed members, without the undefined ones. */
function printObject(members: readonly (readonly [string, string | undefined])[]): string {
  const printed = members.flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(name)}:${value}`],
  );
  return `{${printed.join(',')}}`;
}
