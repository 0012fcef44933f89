import fc from 'fast-check';
import type { Properties, PropertyValue } from '../../shared/domain/messages/property-value.ts';

/** Any text that UTF-8 can represent, including control characters and rare planes. */
export const wholeText = fc.string({ unit: 'binary', maxLength: 40 });

const integer = (type: 'byte' | 'sbyte' | 'short' | 'ushort' | 'int' | 'uint', bits: number) => {
  const signed = type === 'sbyte' || type === 'short' || type === 'int';
  const min = signed ? -(2 ** (bits - 1)) : 0;
  return fc
    .integer({ min, max: min + 2 ** bits - 1 })
    .map((value): PropertyValue => ({ type, value }));
};
const large = (type: 'long' | 'ulong' | 'timeSpan' | 'dateTimeOffset', min: bigint, max: bigint) =>
  fc
    .oneof(fc.bigInt({ min, max }), fc.constantFrom(0n, 7n, min, max, 2n ** 31n, 2n ** 53n + 1n))
    .map((value): PropertyValue => ({ type, value }));
const texts = (type: 'string' | 'uri') =>
  wholeText.map((value): PropertyValue => ({ type, value }));
const int64 = [-(2n ** 63n), 2n ** 63n - 1n] as const;

/** A value of any type, mostly near the limits of its range. */
export const propertyValue: fc.Arbitrary<PropertyValue> = fc.oneof(
  fc.constant<PropertyValue>({ type: 'null' }),
  fc.boolean().map((value): PropertyValue => ({ type: 'boolean', value })),
  texts('string'),
  texts('uri'),
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 1 })
    .map((value) => ({ type: 'char', value })),
  fc.uuid().map((value): PropertyValue => ({ type: 'guid', value })),
  integer('byte', 8),
  integer('sbyte', 8),
  integer('short', 16),
  integer('ushort', 16),
  integer('int', 32),
  integer('uint', 32),
  fc.float().map((value): PropertyValue => ({ type: 'float', value })),
  fc.double().map((value): PropertyValue => ({ type: 'double', value })),
  fc.integer().map((value): PropertyValue => ({ type: 'double', value })),
  large('long', ...int64),
  large('ulong', 0n, 2n ** 64n - 1n),
  large('timeSpan', ...int64),
  large('dateTimeOffset', ...int64),
  fc.maxSafeInteger().map((value): PropertyValue => ({ type: 'dateTime', value })),
  fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((value): PropertyValue => ({ type: 'decimal', value })),
  fc.uint8Array({ maxLength: 40 }).map((value): PropertyValue => ({ type: 'bytes', value })),
) as fc.Arbitrary<PropertyValue>;

/** Properties with any names, including dangerous ones such as __proto__. */
export const properties: fc.Arbitrary<Properties> = fc
  .array(
    fc.tuple(
      fc.oneof(wholeText, fc.constantFrom('__proto__', 'constructor', '$long')),
      propertyValue,
    ),
    { maxLength: 6 },
  )
  .map((entries) => Object.fromEntries(entries));

/** Names that are valid header names, in lower case as HTTP libraries return them. */
export const headerName = fc.stringMatching(/^q[a-z0-9_.-]{0,12}$/);
