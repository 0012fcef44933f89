import type { RandomSource } from '../../domain/clock.ts';
import { matchesCorrelation } from '../correlation.ts';
import type { FilterInput } from '../filter-input.ts';
import type { Filter } from '../rule.ts';
import { compileFilter } from './compile.ts';
import type { Truth } from './truth.ts';

/**
 * Evaluates a filter for a message: true, false or unknown. Only true is a match (semantics R12). Throws
 * FilterError if the evaluation fails.
 *
 * @example evaluate({ kind: 'sql', expression: "color = 'red'", parameters: {} }, input, random)
 */
export function evaluate(filter: Filter, input: FilterInput, random: RandomSource): Truth {
  switch (filter.kind) {
    case 'true':
      return true;
    case 'false':
      return false;
    case 'correlation':
      return matchesCorrelation(filter, input);
    case 'sql':
      return compileFilter(filter.expression)({ input, parameters: filter.parameters, random });
  }
}
