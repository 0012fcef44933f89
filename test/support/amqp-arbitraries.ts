import fc from 'fast-check';
import type { AmqpType, AmqpValue } from '../../amqp/wire/value.ts';

const integer = (type: 'ubyte' | 'ushort' | 'uint' | 'byte' | 'short' | 'int', bits: number) => {
  const isSigned = !type.startsWith('u');
  const min = isSigned ? -(2 ** (bits - 1)) : 0;
  const max = isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  return fc.integer({ min, max }).map((value): AmqpValue => ({ type, value }));
};

const octets = (type: 'decimal32' | 'decimal64' | 'decimal128' | 'uuid', length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((value): AmqpValue => ({ type, value }));

const ascii = fc.string({ unit: 'binary-ascii', maxLength: 300 });

/** Values that hold no others. */
const SIMPLE: readonly fc.Arbitrary<AmqpValue>[] = [
  fc.constant<AmqpValue>({ type: 'null' }),
  fc.boolean().map((value): AmqpValue => ({ type: 'boolean', value })),
  integer('ubyte', 8),
  integer('byte', 8),
  integer('ushort', 16),
  integer('short', 16),
  integer('uint', 32),
  integer('int', 32),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value): AmqpValue => ({ type: 'ulong', value })),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((value): AmqpValue => ({ type: 'long', value })),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((value): AmqpValue => ({ type: 'timestamp', value })),
  fc.float({ noNaN: true }).map((value): AmqpValue => ({ type: 'float', value })),
  fc.double({ noNaN: true }).map((value): AmqpValue => ({ type: 'double', value })),
  fc.integer({ min: 0, max: 0x10ffff }).map((value): AmqpValue => ({ type: 'char', value })),
  octets('decimal32', 4),
  octets('decimal64', 8),
  octets('decimal128', 16),
  octets('uuid', 16),
  fc.uint8Array({ maxLength: 300 }).map((value): AmqpValue => ({ type: 'binary', value })),
  fc
    .string({ unit: 'grapheme', maxLength: 200 })
    .map((value): AmqpValue => ({ type: 'string', value })),
  ascii.map((value): AmqpValue => ({ type: 'symbol', value })),
];

const arrayOf = (of: fc.Arbitrary<AmqpValue>) =>
  fc.array(of, { minLength: 1, maxLength: 8 }).map((value): AmqpValue => {
    const element: AmqpType = value[0]?.type ?? 'null';
    return { type: 'array', element, value };
  });

/** Any value, up to four levels deep. */
export const { value: amqpValue } = fc.letrec<{ value: AmqpValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(...SIMPLE),
    fc.array(tie('value'), { maxLength: 6 }).map((value): AmqpValue => ({ type: 'list', value })),
    fc
      .array(fc.tuple(tie('value'), tie('value')), { maxLength: 6 })
      .map((value): AmqpValue => ({ type: 'map', value })),
    fc.oneof(...SIMPLE.map(arrayOf)),
    fc
      .tuple(fc.oneof(...SIMPLE), tie('value'))
      .map(([descriptor, value]): AmqpValue => ({ type: 'described', descriptor, value })),
  ),
}));

/** Any value that holds no others. */
export const simpleValue: fc.Arbitrary<AmqpValue> = fc.oneof(...SIMPLE);
