import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { requireBounds } from './conditions.ts';
import { notSimulated, validationFailed } from './failures.ts';
import { type Placeholders, parsePath, parseValue, type Uses } from './paths.ts';
import { textOrder } from './text-order.ts';
import { Tokens } from './tokens.ts';

/** The collection of a query, and its range in the order of `textOrder`, bounds included. */
export interface KeyRange {
  readonly pk: string;
  readonly from: string;
  readonly to: string;
}

/** A key condition, applied to the values of a request. */
export type KeyCondition = (values: Placeholders['values']) => KeyRange;

/** A suffix that sorts a prefix behind all sort keys with that prefix. */
const LAST = '\uffff';

/** Parses a key condition of the kinds that storage sends. */
export function parseKeyCondition(expression: string, uses: Uses): KeyCondition {
  const tokens = new Tokens(expression);
  requirePath(parsePath(tokens, uses), 'pk');
  tokens.expect('=');
  const pk = parseValue(tokens, uses);
  const range = tokens.takeIf('AND') ? parseSortKey(tokens, uses) : WHOLE;
  if (!tokens.isEmpty) throw notSimulated(`the key condition ${expression}`);
  return (values) => ({ pk: keyText(values[pk]), ...range(values) });
}

type SortKeys = (values: Placeholders['values']) => Pick<KeyRange, 'from' | 'to'>;

const WHOLE: SortKeys = () => ({ from: '', to: LAST });

function parseSortKey(tokens: Tokens, uses: Uses): SortKeys {
  if (tokens.takeIf('BEGINS_WITH')) {
    tokens.expect('(');
    requirePath(parsePath(tokens, uses), 'sk');
    tokens.expect(',');
    const prefix = parseValue(tokens, uses);
    tokens.expect(')');
    return (values) => {
      const from = textOrder(keyText(values[prefix]));
      return { from, to: `${from}${LAST}` };
    };
  }
  requirePath(parsePath(tokens, uses), 'sk');
  tokens.expect('BETWEEN');
  const from = parseValue(tokens, uses);
  tokens.expect('AND');
  const to = parseValue(tokens, uses);
  uses.checks.push((values) => requireBounds(values[from], values[to]));
  return (values) => ({
    from: textOrder(keyText(values[from])),
    to: textOrder(keyText(values[to])),
  });
}

function requirePath(path: readonly string[], name: string): void {
  if (path.join('.') !== name) throw notSimulated(`a key condition on ${path.join('.')}`);
}

function keyText(value: AttributeValue | undefined): string {
  if (value?.S === undefined) {
    throw validationFailed(
      'One or more parameter values were invalid: Condition parameter type does not match schema type',
    );
  }
  if (value.S !== '') return value.S;
  throw validationFailed(
    'One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value.',
  );
}
