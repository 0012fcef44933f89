/**
 * A value of AMQP's type system (part 1 of the standard). Each value keeps its type: filters and typed
 * languages distinguish an int from a long, and a receiver must read exactly what the sender wrote.
 */
export type AmqpValue =
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: SmallNumber; readonly value: number }
  /** A timestamp is in epoch ms. */
  | { readonly type: 'ulong' | 'long' | 'timestamp'; readonly value: bigint }
  | { readonly type: Octets; readonly value: Uint8Array }
  | { readonly type: 'binary'; readonly value: Uint8Array }
  | { readonly type: 'string' | 'symbol'; readonly value: string }
  | { readonly type: 'list'; readonly value: readonly AmqpValue[] }
  | { readonly type: 'map'; readonly value: readonly MapEntry[] }
  | AmqpArray
  | Described;

/** Types with a JavaScript number. A char is its Unicode code point. */
type SmallNumber =
  | 'ubyte'
  | 'ushort'
  | 'uint'
  | 'byte'
  | 'short'
  | 'int'
  | 'float'
  | 'double'
  | 'char';
type Octets = 'decimal32' | 'decimal64' | 'decimal128' | 'uuid';
/** A key of an AMQP map and its value. */
export type MapEntry = readonly [AmqpValue, AmqpValue];
/** The name of an AMQP type. */
export type AmqpType = AmqpValue['type'];

/** All elements have the type `element`, which is kept apart because an array may be empty. */
export interface AmqpArray {
  readonly type: 'array';
  readonly element: AmqpType;
  readonly value: readonly AmqpValue[];
}

/** A value with a descriptor, which names its meaning. */
export interface Described {
  readonly type: 'described';
  readonly descriptor: AmqpValue;
  readonly value: AmqpValue;
}

export const NULL: AmqpValue = { type: 'null' };

export const bool = (value: boolean): AmqpValue => ({ type: 'boolean', value });
export const ubyte = (value: number): AmqpValue => ({ type: 'ubyte', value });
export const ushort = (value: number): AmqpValue => ({ type: 'ushort', value });
export const uint = (value: number): AmqpValue => ({ type: 'uint', value });
export const int = (value: number): AmqpValue => ({ type: 'int', value });
export const long = (value: bigint): AmqpValue => ({ type: 'long', value });
export const ulong = (value: bigint): AmqpValue => ({ type: 'ulong', value });
export const timestamp = (ms: number): AmqpValue => ({ type: 'timestamp', value: BigInt(ms) });
export const str = (value: string): AmqpValue => ({ type: 'string', value });
export const symbol = (value: string): AmqpValue => ({ type: 'symbol', value });
export const binary = (value: Uint8Array): AmqpValue => ({ type: 'binary', value });
export const uuid = (value: Uint8Array): AmqpValue => ({ type: 'uuid', value });
export const list = (value: readonly AmqpValue[]): AmqpValue => ({ type: 'list', value });
export const array = (element: AmqpType, value: readonly AmqpValue[]): AmqpValue => ({
  type: 'array',
  element,
  value,
});

/** Creates a described value with a numeric descriptor. */
export const described = (code: bigint, value: AmqpValue): Described => ({
  type: 'described',
  descriptor: ulong(code),
  value,
});

/** Creates a map with text keys, strings unless `key` creates another type. Drops entries without a value. */
export function mapOf(
  entries: Readonly<Record<string, AmqpValue | undefined>>,
  key: (name: string) => AmqpValue = str,
): AmqpValue {
  const present = Object.entries(entries).flatMap(([name, value]): MapEntry[] =>
    value === undefined ? [] : [[key(name), value]],
  );
  return { type: 'map', value: present };
}

/** Returns the text of a string or symbol, undefined for other types. */
export function textOf(value: AmqpValue | undefined): string | undefined {
  return value?.type === 'string' || value?.type === 'symbol' ? value.value : undefined;
}

/** Returns an integer of any type; undefined for other types, and if a JavaScript number cannot hold it. */
export function numberOf(value: AmqpValue | undefined): number | undefined {
  switch (value?.type) {
    case 'ubyte':
    case 'ushort':
    case 'uint':
    case 'byte':
    case 'short':
    case 'int':
      return value.value;
    case 'ulong':
    case 'long':
    case 'timestamp': {
      const number = Number(value.value);
      return Number.isSafeInteger(number) ? number : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns an integer of any type and size, undefined for other types. */
export function bigintOf(value: AmqpValue | undefined): bigint | undefined {
  if (value?.type === 'ulong' || value?.type === 'long') return value.value;
  const number = numberOf(value);
  return number === undefined ? undefined : BigInt(number);
}

/** Returns the entries of a map by the text of their keys. Ignores keys of other types. */
export function fieldsOf(value: AmqpValue | undefined): ReadonlyMap<string, AmqpValue> {
  const fields = new Map<string, AmqpValue>();
  if (value?.type !== 'map') return fields;
  for (const [key, entry] of value.value) {
    const name = textOf(key);
    if (name !== undefined) fields.set(name, entry);
  }
  return fields;
}

/** Returns the elements of a list or array. A single value counts as a list of one, null as an empty one. */
export function elementsOf(value: AmqpValue | undefined): readonly AmqpValue[] {
  if (value === undefined || value.type === 'null') return [];
  return value.type === 'list' || value.type === 'array' ? value.value : [value];
}
