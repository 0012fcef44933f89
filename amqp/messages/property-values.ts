import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';
import { type AmqpValue, type MapEntry, str, symbol, textOf } from '../wire/value.ts';

/** Symbolic descriptors of the vendor's clients for types that AMQP lacks (semantics M7). */
const DESCRIBED = {
  timeSpan: 'com.microsoft:timespan',
  uri: 'com.microsoft:uri',
  dateTimeOffset: 'com.microsoft:datetime-offset',
} as const;

/** Converts a value to a property; undefined for types that properties do not have. */
function toProperty(value: AmqpValue): PropertyValue | undefined {
  switch (value.type) {
    case 'null':
      return { type: 'null' };
    case 'boolean':
      return { type: 'boolean', value: value.value };
    case 'ubyte':
      return { type: 'byte', value: value.value };
    case 'byte':
      return { type: 'sbyte', value: value.value };
    case 'short':
    case 'ushort':
    case 'int':
    case 'uint':
    case 'float':
    case 'double':
      return { type: value.type, value: value.value };
    case 'long':
    case 'ulong':
      return { type: value.type, value: value.value };
    case 'string':
      return { type: 'string', value: value.value };
    case 'char':
      return isUnicode(value.value)
        ? { type: 'char', value: String.fromCodePoint(value.value) }
        : undefined;
    case 'uuid':
      return { type: 'guid', value: guidText(value.value) };
    case 'timestamp': {
      const ms = Number(value.value);
      return Number.isSafeInteger(ms) ? { type: 'dateTime', value: ms } : undefined;
    }
    case 'decimal128':
      return { type: 'decimal', value: Uint8Array.from(value.value) };
    case 'binary':
      return { type: 'bytes', value: Uint8Array.from(value.value) };
    case 'described':
      return fromDescribed(textOf(value.descriptor), value.value);
    default:
      return undefined;
  }
}

function fromDescribed(name: string | undefined, value: AmqpValue): PropertyValue | undefined {
  if (name === DESCRIBED.uri && value.type === 'string') {
    return { type: 'uri', value: value.value };
  }
  if (value.type !== 'long') return undefined;
  if (name === DESCRIBED.timeSpan) return { type: 'timeSpan', value: value.value };
  if (name === DESCRIBED.dateTimeOffset) return { type: 'dateTimeOffset', value: value.value };
  return undefined;
}

/** Converts a property to a value. */
function fromProperty(property: PropertyValue): AmqpValue {
  switch (property.type) {
    case 'byte':
      return { type: 'ubyte', value: property.value };
    case 'sbyte':
      return { type: 'byte', value: property.value };
    case 'char':
      return { type: 'char', value: property.value.codePointAt(0) ?? 0 };
    case 'guid':
      return { type: 'uuid', value: guidBytes(property.value) };
    case 'dateTime':
      return { type: 'timestamp', value: BigInt(Math.round(property.value)) };
    case 'decimal':
      return { type: 'decimal128', value: property.value };
    case 'bytes':
      return { type: 'binary', value: property.value };
    case 'uri':
      return described(DESCRIBED.uri, str(property.value));
    case 'timeSpan':
    case 'dateTimeOffset':
      return described(DESCRIBED[property.type], { type: 'long', value: property.value });
    case 'null':
      return { type: 'null' };
    case 'boolean':
      return { type: 'boolean', value: property.value };
    case 'string':
      return str(property.value);
    case 'long':
    case 'ulong':
      return { type: property.type, value: property.value };
    default:
      return { type: property.type, value: property.value };
  }
}

/** Splits the entries of a map into properties and entries of other types. */
export function toProperties(map: AmqpValue | undefined): {
  readonly properties: Properties;
  readonly others: readonly MapEntry[];
} {
  const properties: [string, PropertyValue][] = [];
  const others: MapEntry[] = [];
  for (const entry of map?.type === 'map' ? map.value : []) {
    const name = textOf(entry[0]);
    const property = toProperty(entry[1]);
    if (name === undefined || property === undefined) others.push(entry);
    else properties.push([name, property]);
  }
  return { properties: Object.fromEntries(properties), others };
}

/** Returns the properties of a map in the form of a settlement action; nothing if there are none. */
export function changedProperties(map: AmqpValue | undefined): {
  readonly properties?: Properties;
} {
  const { properties } = toProperties(map);
  return Object.keys(properties).length === 0 ? {} : { properties };
}

/** Returns a map of properties and other entries; undefined if there are none. */
export function fromProperties(
  properties: Properties,
  others: readonly MapEntry[] = [],
): AmqpValue | undefined {
  const entries = Object.entries(properties).map(([name, value]): MapEntry => {
    return [str(name), fromProperty(value)];
  });
  // A property replaces another entry of the same name, which a rule's action may have overwritten.
  const kept = others.filter(([key]) => !Object.hasOwn(properties, textOf(key) ?? ''));
  if (entries.length + kept.length === 0) return undefined;
  return { type: 'map', value: [...entries, ...kept] };
}

function described(name: string, value: AmqpValue): AmqpValue {
  return { type: 'described', descriptor: symbol(name), value };
}

function isUnicode(code: number): boolean {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/** Returns the text of a GUID whose bytes are in the order of the text. */
export function guidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join('-')}-${hex.slice(20)}`;
}

/** Returns the bytes of a GUID in the order of its text. */
export function guidBytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll('-', ''), 'hex'));
}

/**
 * Converts GUID bytes between the order of the text and the memory order of .NET, which reverses the first
 * three groups. Delivery tags carry lock tokens in .NET's order (semantics W12).
 */
export function swapGuid(bytes: Uint8Array): Uint8Array {
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  return Uint8Array.from(order, (position) => bytes[position] ?? 0);
}
