import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  compareDecimals,
  type Decimal,
  decimalArithmetic,
  decimalFromNumber,
  decimalToInteger,
  decimalToNumber,
  decimalToText,
  decodeDecimal,
  encodeDecimal,
  parseDecimal,
} from '../../shared/filters/evaluation/decimal.ts';

const decimal = (text: string): Decimal => parseDecimal(text) ?? assert.fail(text);

const ARITHMETIC: readonly (readonly [string, '+' | '-' | '*' | '/' | '%', string, string])[] = [
  ['0.1', '+', '0.2', '0.3'],
  ['10.10', '-', '0.1', '10.00'],
  ['1.5', '*', '-2.25', '-3.375'],
  ['1', '/', '8', '0.125'],
  ['10', '/', '5', '2'],
  ['0', '/', '5', '0'],
  ['1', '/', '3', '0.3333333333333333333333333333333333'],
  ['2', '/', '3', '0.6666666666666666666666666666666667'],
  ['-2', '/', '3', '-0.6666666666666666666666666666666667'],
  ['7.5', '%', '2', '1.5'],
  ['-7.5', '%', '2', '-1.5'],
  // A half rounds to the even digit, a little more than a half rounds up.
  ['1000000000000000000000000000000000', '+', '0.5', '1000000000000000000000000000000000'],
  ['1000000000000000000000000000000001', '+', '0.5', '1000000000000000000000000000000002'],
  ['1000000000000000000000000000000000', '+', '0.51', '1000000000000000000000000000000001'],
  ['-1000000000000000000000000000000001', '-', '0.5', '-1000000000000000000000000000000002'],
  ['9999999999999999999999999999999999', '+', '0.5', '10000000000000000000000000000000000'],
];

for (const [left, operator, right, expected] of ARITHMETIC) {
  test(`decimal: ${left} ${operator} ${right} = ${expected}`, () => {
    const result = decimalArithmetic(operator, decimal(left), decimal(right));
    assert.equal(result === undefined ? undefined : decimalToText(result), expected);
  });
}

/** From the examples of the binary integer encoding: sign, exponent + 6176, coefficient. */
const ENCODED: readonly (readonly [text: string, hex: string])[] = [
  ['0', '30400000000000000000000000000000'],
  ['1', '30400000000000000000000000000001'],
  ['-1', 'b0400000000000000000000000000001'],
  ['0.1', '303e0000000000000000000000000001'],
  ['10.10', '303c00000000000000000000000003f2'],
  ['1E3', '30460000000000000000000000000001'],
];

for (const [text, hex] of ENCODED) {
  test(`decimal128: ${text}`, () => {
    const bytes = encodeDecimal(decimal(text));
    assert.equal(Buffer.from(bytes ?? []).toString('hex'), hex);
    assert.deepEqual(decodeDecimal(Buffer.from(hex, 'hex')), decimal(text));
  });
}

test('infinity, NaN and a wrong length decode to undefined; a coefficient that is too long decodes to 0', () => {
  const starting = (first: number): Uint8Array => Uint8Array.of(first, ...new Array(15).fill(0));
  assert.equal(decodeDecimal(starting(0x78)), undefined);
  assert.equal(decodeDecimal(starting(0x7c)), undefined);
  assert.equal(decodeDecimal(new Uint8Array(8)), undefined);
  assert.deepEqual(decodeDecimal(starting(0x60)), { coefficient: 0n, exponent: 0 });
});

test('an encoded decimal decodes to the same value', () => {
  const coefficients = fc.bigInt({ min: -(10n ** 34n) + 1n, max: 10n ** 34n - 1n });
  fc.assert(
    fc.property(coefficients, fc.integer({ min: -6176, max: 6111 }), (coefficient, exponent) => {
      const bytes = encodeDecimal({ coefficient, exponent });
      assert.deepEqual(bytes && decodeDecimal(bytes), { coefficient, exponent });
    }),
  );
});

test('integers compute like bigints, and small ones like numbers', () => {
  const wholes = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
  fc.assert(
    fc.property(wholes, wholes, (a, b) => {
      const [left, right] = [
        { coefficient: a, exponent: 0 },
        { coefficient: b * 100n, exponent: -2 },
      ];
      assert.equal(Math.sign(compareDecimals(left, right)), a < b ? -1 : a > b ? 1 : 0);
      const sum = decimalArithmetic('+', left, right);
      assert.equal(sum && decimalToInteger(sum), a + b);
      const product = decimalArithmetic('*', left, right);
      assert.equal(product && decimalToInteger(product), a * b);
      assert.equal(decimalToNumber(right), Number(b));
    }),
  );
});

test('a double becomes the decimal of its shortest text, and converts back', () => {
  assert.equal(decimalToText(decimalFromNumber(0.1) ?? decimal('9')), '0.1');
  assert.equal(decimalFromNumber(Number.NaN), undefined);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const converted = decimalFromNumber(value);
      assert.equal(converted && decimalToNumber(converted), value === 0 ? 0 : value);
    }),
  );
});

test('a value that is too large, or not a number, is undefined', () => {
  assert.equal(parseDecimal('1E6145'), undefined);
  assert.equal(parseDecimal('1E6144')?.exponent, 6111);
  for (const text of ['', '.5', '1.', 'x', '1e', '--1', ' 1'])
    assert.equal(parseDecimal(text), undefined);
  assert.equal(decimalToInteger(decimal('1.5')), undefined);
  assert.equal(decimalToInteger(decimal('1.50E1')), 15n);
});
