import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import { notSimulated } from './failures.ts';
import type { Tokens } from './tokens.ts';

/** The placeholders of a request. */
export interface Placeholders {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, AttributeValue>>;
}

/** The placeholders that an expression uses. */
export interface Uses {
  readonly names: Set<string>;
  readonly values: Set<string>;
  /** Checks of its values that do not depend on an item; each throws ValidationException. */
  readonly checks: ((values: Placeholders['values']) => void)[];
}

/** A path to a value: names, some of them placeholders, from the top of the item inwards. */
export type Path = readonly string[];

/** Parses a path such as `#s.#a.u`. */
export function parsePath(tokens: Tokens, uses: Uses): Path {
  const path: string[] = [];
  do {
    const { kind, text } = tokens.take();
    if (kind !== 'name') throw notSimulated(`a path with '${text}' in it`);
    if (text.startsWith('#')) uses.names.add(text);
    path.push(text);
  } while (tokens.takeIf('.'));
  return path;
}

/** Parses the placeholder of a value. */
export function parseValue(tokens: Tokens, uses: Uses): string {
  const { kind, text } = tokens.take();
  if (kind !== 'value') throw notSimulated(`'${text}' in place of a value`);
  uses.values.add(text);
  return text;
}

/** The attribute name of a part of a path. */
export function nameOf(part: string, names: Placeholders['names']): string {
  return part.startsWith('#') ? (names[part] as string) : part;
}

/** The value at a path; undefined = there is none. */
export function valueAt(
  item: Item | undefined,
  path: Path,
  names: Placeholders['names'],
): AttributeValue | undefined {
  let map = item;
  let value: AttributeValue | undefined;
  for (const part of path) {
    value = map?.[nameOf(part, names)];
    if (value === undefined) return undefined;
    map = value.M;
  }
  return value;
}
