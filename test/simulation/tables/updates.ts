import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { hasMember, type Item, kindOf } from './attribute-values.ts';
import { notSimulated, validationFailed } from './failures.ts';
import { addNumbers } from './numbers.ts';
import {
  nameOf,
  type Path,
  type Placeholders,
  parsePath,
  parseValue,
  type Uses,
  valueAt,
} from './paths.ts';
import { Tokens } from './tokens.ts';

/** One change of an update, at a path; `value` = the placeholder of a value. */
export type Action =
  | {
      readonly kind: 'SET' | 'ADD' | 'DELETE';
      readonly path: Path;
      readonly value: string;
      /** To what SET adds the value. */
      readonly addedTo?: Summand;
    }
  | { readonly kind: 'REMOVE'; readonly path: Path };

/** The value at a path, or another one if there is none, by its placeholder. */
interface Summand {
  readonly path: Path;
  readonly otherwise: string;
}

const SECTIONS = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const;

/** Parses an update of the kinds that storage sends. */
export function parseUpdate(expression: string, uses: Uses): readonly Action[] {
  const tokens = new Tokens(expression);
  const actions: Action[] = [];
  const left = new Set<Action['kind']>(SECTIONS);
  while (!tokens.isEmpty) {
    const kind = SECTIONS.find((section) => tokens.takeIf(section));
    if (kind === undefined || !left.delete(kind)) throw notSimulated(`the update ${expression}`);
    do actions.push(parseAction(kind, tokens, uses));
    while (tokens.takeIf(','));
  }
  return actions;
}

function parseAction(kind: Action['kind'], tokens: Tokens, uses: Uses): Action {
  const path = parsePath(tokens, uses);
  if (kind === 'REMOVE') return { kind, path };
  if (kind === 'SET') tokens.expect('=');
  if (kind !== 'SET' || !tokens.takeIf('if_not_exists'))
    return { kind, path, value: parseValue(tokens, uses) };
  const addedTo = parseSummand(tokens, uses);
  return { kind, path, addedTo, value: parseValue(tokens, uses) };
}

/** Parses a sum up to its second number, after `if_not_exists`. */
function parseSummand(tokens: Tokens, uses: Uses): Summand {
  tokens.expect('(');
  const path = parsePath(tokens, uses);
  tokens.expect(',');
  const otherwise = parseValue(tokens, uses);
  tokens.expect(')');
  tokens.expect('+');
  return { path, otherwise };
}

/** Throws ValidationException if the paths of two actions overlap, or if one is a key attribute. */
export function requireDisjoint(
  actions: readonly Action[],
  names: Placeholders['names'],
  keyNames: readonly string[],
): void {
  const paths = actions.map(({ path }) => path.map((part) => nameOf(part, names)));
  const known = new Set<string>();
  for (const path of paths) {
    if (keyNames.includes(path[0] ?? '')) {
      throw validationFailed(
        'One or more parameter values were invalid: Cannot update attribute. This attribute is part of the key',
      );
    }
    const text = JSON.stringify(path);
    if (known.has(text)) throw overlapping();
    known.add(text);
  }
  if (paths.length === 1) return;
  for (const path of paths) {
    for (let length = 1; length < path.length; length++) {
      if (known.has(JSON.stringify(path.slice(0, length)))) throw overlapping();
    }
  }
}

function overlapping(): Error {
  return validationFailed(
    'Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths',
  );
}

/**
 * The updated item; the given one is not changed. Throws ValidationException if a path or a type does
 * not fit the item.
 */
export function applyUpdate(
  before: Item,
  actions: readonly Action[],
  { names, values }: Placeholders,
): Item {
  const after = { ...before };
  const copied = new Set<Item>([after]);
  for (const action of actions) {
    const { path } = action;
    const map = parentOf(after, path, names, copied);
    const name = nameOf(path.at(-1) as string, names);
    if (action.kind === 'REMOVE') {
      delete map[name];
      continue;
    }
    const value = values[action.value] as AttributeValue;
    const { addedTo } = action;
    const summand = addedTo && (valueAt(before, addedTo.path, names) ?? values[addedTo.otherwise]);
    const result =
      summand === undefined ? RESULTS[action.kind](map[name], value) : sumOf(summand, value);
    if (result === undefined) delete map[name];
    else map[name] = result;
  }
  return after;
}

/** The map that holds the last name of a path, as a copy that may be changed. */
function parentOf(item: Item, path: Path, names: Placeholders['names'], copied: Set<Item>): Item {
  let map = item;
  for (let depth = 0; depth < path.length - 1; depth++) {
    const name = nameOf(path[depth] as string, names);
    const inner = map[name]?.M;
    if (inner === undefined) {
      throw validationFailed(
        'The document path provided in the update expression is invalid for update',
      );
    }
    if (copied.has(inner)) {
      map = inner;
      continue;
    }
    const copy = { ...inner };
    copied.add(copy);
    map[name] = { M: copy };
    map = copy;
  }
  return map;
}

type Result = (
  before: AttributeValue | undefined,
  value: AttributeValue,
) => AttributeValue | undefined;

/** The value after an action; undefined = it is removed. */
const RESULTS: Readonly<Record<'SET' | 'ADD' | 'DELETE', Result>> = {
  SET: (_, value) => value,
  ADD: (before, value) => {
    if (value.N === undefined) throw notSimulated(`ADD of a value of ${kindOf(value)}`);
    if (before === undefined) return value;
    if (before.N === undefined) throw wrongType();
    return { N: addNumbers(before.N, value.N) };
  },
  DELETE: (before, value) => {
    if (value.NS === undefined) throw notSimulated(`DELETE of a value of ${kindOf(value)}`);
    if (before === undefined) return undefined;
    if (before.NS === undefined) throw wrongType();
    const left = before.NS.filter((N) => !hasMember(value, { N }));
    return left.length === 0 ? undefined : { NS: left };
  },
};

function sumOf(one: AttributeValue, other: AttributeValue): AttributeValue {
  if (one.N === undefined || other.N === undefined) throw wrongType();
  return { N: addNumbers(one.N, other.N) };
}

function wrongType(): Error {
  return validationFailed('An operand in the update expression has an incorrect data type');
}
