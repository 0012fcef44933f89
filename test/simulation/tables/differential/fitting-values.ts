import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { LoadRandom } from '../../../support/load-random.ts';
import { type Item, kindOf } from '../attribute-values.ts';
import type { Shape } from '../corpus/shapes.ts';
import type { ValueTypes } from '../corpus/value-types.ts';
import { valueAt } from '../paths.ts';
import { valuesIn } from './random-values.ts';

/** The part before the value in `#s.#a = :v`, `size(#s) = :v` and `contains(c, :v)`. */
const COMPARED = /(?:(?<function>\w+)\()?(?<path>[#\w.]+)(?:\)? (?<sign>[<>=]+) | BETWEEN |, )$/;
const STEPS = ['-1', '0', '1'] as const;

/**
 * A value for a placeholder that is likely to make its condition hold for an item: the value at the path that
 * the condition compares it with, or one close to it; otherwise any value of the item with the right type.
 * Undefined = the item has none.
 */
export function fittingValue(
  random: LoadRandom,
  wanted: {
    readonly name: string;
    readonly types: ValueTypes;
    readonly fields: Shape['fields'];
    readonly stored: Item | undefined;
  },
): AttributeValue | undefined {
  const { name, types, fields, stored } = wanted;
  const condition = String(fields['ConditionExpression'] ?? '');
  const place = condition.search(new RegExp(`${name}\\b`));
  const groups = place < 0 ? undefined : COMPARED.exec(condition.slice(0, place))?.groups;
  const names = (fields['ExpressionAttributeNames'] ?? {}) as Record<string, string>;
  const compared = groups && valueAt(stored, (groups['path'] ?? '').split('.'), names);
  if (groups === undefined || compared === undefined) {
    const values = valuesIn(stored, types);
    return values[random.below(values.length)];
  }
  if (groups['function'] === 'size') return { N: String(Object.keys(compared.M ?? {}).length) };
  if (groups['function'] === 'contains') return { N: compared.NS?.[0] ?? '0' };
  if (groups['sign'] === '=') return compared;
  // A type that storage never compares so may have no order, which is an error.
  if (!(kindOf(compared) in types)) return undefined;
  return compared.N === undefined ? compared : { N: near(random, compared.N) };
}

function near(random: LoadRandom, number: string): string {
  return /^-?\d+$/.test(number) ? String(BigInt(number) + BigInt(random.pick(STEPS))) : number;
}
