import { copyValue, type Item } from './attribute-values.ts';
import { notSimulated } from './failures.ts';
import { nameOf, type Placeholders, parsePath, type Uses } from './paths.ts';
import { Tokens } from './tokens.ts';

/** A copy of the attributes of an item that an answer shows. */
export type Projection = (item: Item, names: Placeholders['names']) => Item;

/** Parses a projection of the kind that storage sends: names of attributes. */
export function parseProjection(expression: string, uses: Uses): Projection {
  const tokens = new Tokens(expression);
  const shown: string[] = [];
  do {
    const [name = '', ...inner] = parsePath(tokens, uses);
    if (inner.length > 0) throw notSimulated(`the projection ${expression}`);
    shown.push(name);
  } while (tokens.takeIf(','));
  if (!tokens.isEmpty) throw notSimulated(`the projection ${expression}`);
  return (item, names) => {
    const seen: Item = {};
    for (const part of shown) {
      const name = nameOf(part, names);
      const value = item[name];
      if (value !== undefined) seen[name] = copyValue(value);
    }
    return seen;
  };
}
