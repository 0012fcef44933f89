import type { RandomSource } from '../../domain/clock.ts';
import type { Properties, PropertyValue } from '../../domain/messages/property-value.ts';
import { type Fail, type FilterErrorName, failAt } from '../filter-error.ts';
import { type FilterInput, systemReader, unknownSystemProperty } from '../filter-input.ts';
import type { Expression } from '../language/syntax.ts';
import { arithmetic, signed } from './arithmetic.ts';
import { isUnknown, KIND, type Operand } from './values.ts';

/** The inputs of a compiled expression. */
export interface Context {
  readonly input: FilterInput;
  /** Values of `@name`, by name with or without the `@`. */
  readonly parameters: Properties;
  /** For newid(). */
  readonly random: RandomSource;
}

/** A compiled expression. Throws FilterError if the evaluation fails. */
export type CompiledValue = (context: Context) => Operand;

/** The text of an expression, for the positions in its errors, and the name of these errors. */
export interface Source {
  readonly text: string;
  readonly errorName: FilterErrorName;
}

/**
 * Compiles an expression into a closure, and resolves names and constants once. The closure throws
 * FilterError.
 */
export function compileValue(node: Expression, source: Source): CompiledValue {
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
      return (context) => signed(node.operator, operand(context), fail);
    }
    case 'arithmetic': {
      const left = compileValue(node.left, source);
      const right = compileValue(node.right, source);
      return (context) => arithmetic(node.operator, left(context), right(context), fail);
    }
  }
}

function userValue(name: string): CompiledValue {
  const lowerCaseName = name.toLowerCase();
  return ({ input }) => input.property(name, lowerCaseName);
}

/** A name that does not exist fails for each message: it is not unknown (semantics R28). */
function systemValue(name: string, fail: Fail): CompiledValue {
  const read = systemReader(name);
  if (read !== undefined) return ({ input }) => read(input);
  return () => {
    throw fail(unknownSystemProperty(name));
  };
}

/**
 * `property(name)`. The name may have a scope, as in `property('sys.Label')`; without one it names a user
 * property. If the name is unknown, so is the value.
 */
function valueByName(nameOf: CompiledValue, fail: Fail): CompiledValue {
  return (context) => {
    const name = nameOf(context);
    if (isUnknown(name)) return undefined;
    if (KIND[name.type] !== 'text')
      throw fail(`a property is named by a string, not ${name.type}.`);
    const [, prefix, rest = ''] = /^(?:(sys|user)\.)?(.*)$/is.exec(textOf(name)) ?? [];
    return prefix?.toLowerCase() === 'sys'
      ? systemValue(rest, fail)(context)
      : context.input.property(rest);
  };
}

/** The text of a text value; '' for any other value. */
export function textOf(value: PropertyValue): string {
  return 'value' in value && typeof value.value === 'string' ? value.value : '';
}

/**
 * The value of a parameter; `undefined` = it has none. SDKs write the name with its `@`, so both forms are
 * accepted. As with properties, the exact name has precedence, and otherwise case is ignored.
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

/**
 * Parameters by lower-case name, built on first use, since a filter may use hundreds of parameters out of
 * thousands.
 */
const LOWER_CASED = new WeakMap<Properties, ReadonlyMap<string, PropertyValue>>();

function lowerCased(parameters: Properties): ReadonlyMap<string, PropertyValue> {
  const found = new Map<string, PropertyValue>();
  for (const [key, value] of Object.entries(parameters)) {
    const name = key.replace(/^@/, '').toLowerCase();
    if (!found.has(name)) found.set(name, value);
  }
  return found;
}

/** A random guid of version 4, as in .NET. */
function newGuid(random: RandomSource): PropertyValue {
  const bytes = random.bytes(16);
  const marked = bytes.map((byte, at) =>
    at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte,
  );
  const hex = Array.from(marked, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const value = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { type: 'guid', value };
}
