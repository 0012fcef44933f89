import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from './attribute-values.ts';
import { notSimulated } from './failures.ts';
import type { Tokens } from './tokens.ts';

/** What the placeholders of a request stand for. */
export interface Placeholders {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, AttributeValue>>;
}

/** What an expression asks of the placeholders of its request. */
export interface Uses {
  readonly names: Set<string>;
  readonly values: Set<string>;
  /** What its values must be like, whatever item they meet; each throws ValidationException. */
  readonly checks: ((values: Placeholders['values']) => void)[];
}

/** Where a value stands: names from the top of the item inwards, some of them placeholders. */
export type Path = readonly string[];

/** Reads a path such as `#s.#a.u`. */
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

/** Reads a value's placeholder. */
export function parseValue(tokens: Tokens, uses: Uses): string {
  const { kind, text } = tokens.take();
  if (kind !== 'value') throw notSimulated(`'${text}' in place of a value`);
  uses.values.add(text);
  return text;
}

/** The attribute that a part of a path means. */
export function nameOf(part: string, names: Placeholders['names']): string {
  return part.startsWith('#') ? (names[part] as string) : part;
}

/** What stands at a path; undefined = nothing. */
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
