/**
 * The value of an application property. Storage keeps the type with the value, because filters, AMQP clients
 * and typed languages distinguish an int from a long and a guid from a string (semantics M7).
 */
export type PropertyValue =
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'string' | 'char' | 'uri'; readonly value: string }
  /** Lower-case text form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`. */
  | { readonly type: 'guid'; readonly value: string }
  | {
      readonly type: 'byte' | 'sbyte' | 'short' | 'ushort' | 'int' | 'uint' | 'float' | 'double';
      readonly value: number;
    }
  | { readonly type: 'long' | 'ulong'; readonly value: bigint }
  /** Epoch ms; `text` = the spelling in a rule's parameter, if it differs from our own spelling. */
  | { readonly type: 'dateTime'; readonly value: number; readonly text?: string }
  /** Ticks of 100 ns: since 0001-01-01 for a dateTimeOffset, the length of a timeSpan. */
  | { readonly type: 'dateTimeOffset' | 'timeSpan'; readonly value: bigint }
  /** IEEE 754 decimal128, 16 bytes, most significant first. */
  | { readonly type: 'decimal'; readonly value: Uint8Array }
  | { readonly type: 'bytes'; readonly value: Uint8Array };

/** The name of a property type. */
export type PropertyType = PropertyValue['type'];

/** Application properties by name. Case and order of the names are kept. */
export type Properties = Readonly<Record<string, PropertyValue>>;

/** A property value of type string. */
export const text = (value: string): PropertyValue => ({ type: 'string', value });
