import type { RuleInput } from '../broker/ports/management.ts';
import { FALSE_TEXT, type Filter, type RuleAction, TRUE_TEXT } from '../filters/rule.ts';
import { correlationNames } from './read-rule.ts';
import { writtenRuleValue } from './rule-values.ts';

/** A rule in the short form, as an object to print as JSON, without its name. `readOwnRule` reads it. */
export function shortRule({ filter, action }: RuleInput): Readonly<Record<string, unknown>> {
  return {
    ...shortFilter(filter),
    ...(action !== undefined && { action: shortExpression(action) }),
  };
}

function shortFilter(filter: Filter): Readonly<Record<string, unknown>> {
  switch (filter.kind) {
    case 'true':
      return { sql: TRUE_TEXT };
    case 'false':
      return { sql: FALSE_TEXT };
    case 'sql':
      return { sql: shortExpression(filter) };
    case 'correlation': {
      const { kind: _, properties, ...system } = filter;
      const conditions = Object.entries(correlationNames(system));
      return {
        correlation: { ...Object.fromEntries(conditions), ...values('properties', properties) },
      };
    }
  }
}

function shortExpression({ expression, parameters }: RuleAction): unknown {
  const written = values('parameters', parameters);
  return 'parameters' in written ? { expression, ...written } : expression;
}

function values(name: string, given: RuleAction['parameters']): Readonly<Record<string, unknown>> {
  const entries = Object.entries(given).map(
    ([key, value]) => [key, writtenRuleValue(value)] as const,
  );
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}
