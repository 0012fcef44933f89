import type { RandomSource } from '../../domain/clock.ts';
import type { Properties, PropertyValue } from '../../domain/messages/property-value.ts';
import { type Fail, type FilterErrorName, failAt } from '../filter-error.ts';
import { type FilterInput, systemReader, unknownSystemProperty } from '../filter-input.ts';
import type { Expression } from '../language/syntax.ts';
import { arithmetic, signed } from './arithmetic.ts';
import { isUnknown, KIND, type Operand } from './values.ts';

/** What an expression needs to run. */
export interface Scope {
  readonly input: FilterInput;
  /** Values of `@name`, under their names with or without the `@`. */
  readonly parameters: Properties;
  /** For newid(). */
  readonly random: RandomSource;
}

/** A compiled expression. Throws FilterError. */
export type Value = (scope: Scope) => Operand;

/** Where an expression comes from; its errors carry the place and the name. */
export interface Source {
  readonly text: string;
  readonly errorName: FilterErrorName;
}

/** Turns an expression into a closure; names are resolved and constants made once. */
export function compileValue(node: Expression, source: Source): Value {
  const fail = failAt(source.text, node.at, source.errorName);
  switch (node.kind) {
    case 'constant': {
      const { value } = node;
      return () => value;
    }
    case 'property':
      return node.scope === 'sys' ? systemValue(node.name, fail) : userValue(node.name);
    case 'propertyByName':
      return valueByName(compileValue(node.name, source), fail);
    case 'parameter':
      return ({ parameters }) => {
        const value = findParameter(parameters, node.name);
        if (value === undefined) throw fail(`the parameter @${node.name} has no value.`);
        return value;
      };
    case 'newId':
      return ({ random }) => newGuid(random);
    case 'sign': {
      const operand = compileValue(node.operand, source);
      return (scope) => signed(node.operator, operand(scope), fail);
    }
    case 'arithmetic': {
      const left = compileValue(node.left, source);
      const right = compileValue(node.right, source);
      return (scope) => arithmetic(node.operator, left(scope), right(scope), fail);
    }
  }
}

function userValue(name: string): Value {
  const lowerCaseName = name.toLowerCase();
  return ({ input }) => input.property(name, lowerCaseName);
}

function systemValue(name: string, fail: Fail): Value {
  const read = systemReader(name);
  if (read !== undefined) return ({ input }) => read(input);
  return () => {
    throw fail(unknownSystemProperty(name));
  };
}

/**
 * `property(name)`. The name may carry a scope, as in `property('sys.Label')`; without one it is a
 * user property. A name that is unknown makes the value unknown.
 */
function valueByName(nameOf: Value, fail: Fail): Value {
  return (scope) => {
    const name = nameOf(scope);
    if (isUnknown(name)) return undefined;
    if (KIND[name.type] !== 'text')
      throw fail(`a property is named by a string, not ${name.type}.`);
    const [, prefix, rest = ''] = /^(?:(sys|user)\.)?(.*)$/is.exec(textOf(name)) ?? [];
    return prefix?.toLowerCase() === 'sys'
      ? systemValue(rest, fail)(scope)
      : scope.input.property(rest);
  };
}

/** The text of a text value; '' for anything else. */
export function textOf(value: PropertyValue): string {
  return 'value' in value && typeof value.value === 'string' ? value.value : '';
}

/**
 * The value of a parameter. SDKs write the name with its `@`; both forms are taken, and case
 * matters as little as for properties.
 */
export function findParameter(parameters: Properties, name: string): PropertyValue | undefined {
  for (const key of [`@${name}`, name]) if (Object.hasOwn(parameters, key)) return parameters[key];
  let byName = LOWER_CASED.get(parameters);
  if (byName === undefined) {
    byName = lowerCased(parameters);
    LOWER_CASED.set(parameters, byName);
  }
  return byName.get(name.toLowerCase());
}

/** Parameters by name in lower case, made when first looked for: a filter may name hundreds among thousands. */
const LOWER_CASED = new WeakMap<Properties, ReadonlyMap<string, PropertyValue>>();

function lowerCased(parameters: Properties): ReadonlyMap<string, PropertyValue> {
  const found = new Map<string, PropertyValue>();
  for (const [key, value] of Object.entries(parameters)) {
    const name = key.replace(/^@/, '').toLowerCase();
    if (!found.has(name)) found.set(name, value);
  }
  return found;
}

/** A random guid of version 4, as .NET makes them. */
function newGuid(random: RandomSource): PropertyValue {
  const bytes = random.bytes(16);
  const marked = bytes.map((byte, at) =>
    at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte,
  );
  const hex = Array.from(marked, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const value = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { type: 'guid', value };
}
