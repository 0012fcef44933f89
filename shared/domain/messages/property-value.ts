/**
 * The value of an application property. The type travels with the value through storage, because
 * filters, AMQP clients and typed languages tell an int from a long and a guid from a string
 * (semantics M7).
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
  /** Epoch milliseconds; `text` = how a parameter of a rule spells it, where it is not our own spelling. */
  | { readonly type: 'dateTime'; readonly value: number; readonly text?: string }
  /** Ticks of 100 ns: since 0001-01-01 for an instant, a length for a time span. */
  | { readonly type: 'dateTimeOffset' | 'timeSpan'; readonly value: bigint }
  /** IEEE 754 decimal128, 16 bytes, most significant first. */
  | { readonly type: 'decimal'; readonly value: Uint8Array }
  | { readonly type: 'bytes'; readonly value: Uint8Array };

export type PropertyType = PropertyValue['type'];

/** Application properties by name. Names keep their case and their order. */
export type Properties = Readonly<Record<string, PropertyValue>>;

export const text = (value: string): PropertyValue => ({ type: 'string', value });
