import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  printPropertyHeaders,
  readPropertyHeaders,
} from '../../../lambdas/http/format/property-headers.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import {
  headerName,
  properties,
  propertyValue,
  wholeText,
} from '../../support/message-arbitraries.ts';

const readOne = (value: string): PropertyValue | undefined =>
  readPropertyHeaders(new Headers({ p: value }))['p'];
const roundTrip = (sent: Properties): Properties => readPropertyHeaders(new Headers(printed(sent)));
const printed = (sent: Properties): [string, string][] =>
  printPropertyHeaders(sent).headers.map(([name, value]) => [name, value]);

const READ: readonly [string, PropertyValue][] = [
  ['"High"', { type: 'string', value: 'High' }],
  ['"12345,ABC"', { type: 'string', value: '12345,ABC' }],
  ['""', { type: 'string', value: '' }],
  ['"a \\"b\\" \\\\ c"', { type: 'string', value: 'a "b" \\ c' }],
  ['"\\u00fc\\ud83d\\ude00"', { type: 'string', value: 'ü😀' }],
  ['"\\\\u0041"', { type: 'string', value: '\\u0041' }],
  ['"C:\\temp"', { type: 'string', value: 'C:\\temp' }],
  ['"', { type: 'string', value: '"' }],
  ['7', { type: 'int', value: 7 }],
  ['-2147483648', { type: 'int', value: -2147483648 }],
  ['2147483648', { type: 'long', value: 2147483648n }],
  ['9007199254740993', { type: 'long', value: 9007199254740993n }],
  ['18446744073709551615', { type: 'ulong', value: 18446744073709551615n }],
  ['99999999999999999999', { type: 'string', value: '99999999999999999999' }],
  ['7.0', { type: 'double', value: 7 }],
  ['1e3', { type: 'double', value: 1000 }],
  ['1e999', { type: 'string', value: '1e999' }],
  ['007', { type: 'string', value: '007' }],
  ['true', { type: 'boolean', value: true }],
  ['null', { type: 'null' }],
  ['"Wed, 02 Jul 2014 01:32:27 GMT"', { type: 'dateTime', value: Date.UTC(2014, 6, 2, 1, 32, 27) }],
  ['"Wed, 99 Jul 2014 01:32:27 GMT"', { type: 'string', value: 'Wed, 99 Jul 2014 01:32:27 GMT' }],
  ['u=1, i', { type: 'string', value: 'u=1, i' }],
  [Buffer.from('"Größe"').toString('latin1'), { type: 'string', value: 'Größe' }],
  ['"Gr\xf6\xdfe"', { type: 'string', value: 'Größe' }],
];
for (const [header, value] of READ) {
  test(`the header ${header} is a ${value.type}`, () => {
    assert.deepEqual(readOne(header), value);
  });
}

test('standard headers are not properties, but Priority is one', () => {
  const headers = new Headers({
    Authorization: 'x',
    BrokerProperties: '{}',
    'Content-Type': 'text/plain',
    'User-Agent': 'x',
    Accept: '*/*',
    'Accept-Encoding': 'gzip',
    'x-ms-retrypolicy': 'NoRetry',
    'x-amzn-trace-id': 'x',
    'X-Forwarded-For': 'x',
    'sec-fetch-mode': 'cors',
    traceparent: 'x',
    ServiceBusSupplementaryAuthorization: 'x',
    Priority: '"High"',
    Iffy: '1',
  });
  assert.deepEqual(readPropertyHeaders(headers), {
    iffy: { type: 'int', value: 1 },
    priority: { type: 'string', value: 'High' },
  });
});

test('types without a spelling of their own are printed readably', () => {
  const rows: readonly [PropertyValue, string][] = [
    [{ type: 'double', value: 7 }, '7.0'],
    [{ type: 'double', value: -0 }, '-0.0'],
    [{ type: 'double', value: 1e21 }, '1e+21'],
    [{ type: 'timeSpan', value: 36_610_000_000n }, '"01:01:01"'],
    [{ type: 'timeSpan', value: -864_000_000_001n }, '"-1.00:00:00.0000001"'],
    [{ type: 'dateTimeOffset', value: 635_398_615_471_234_567n }, '"2014-07-02T01:32:27.1234567Z"'],
    [{ type: 'dateTimeOffset', value: 1n }, '"0001-01-01T00:00:00.0000001Z"'],
    [{ type: 'dateTime', value: 8.64e15 + 1 }, '"8640000000000001"'],
    [{ type: 'bytes', value: Uint8Array.of(1, 2, 255) }, '"AQL/"'],
    [{ type: 'string', value: 'ü\n' }, '"\\u00fc\\u000a"'],
  ];
  for (const [value, header] of rows) assert.deepEqual(printed({ p: value }), [['p', header]]);
});

test('a property that no header can carry is returned separately, not lost', () => {
  const value: PropertyValue = { type: 'int', value: 1 };
  const { headers, others } = printPropertyHeaders({
    'a b': value,
    Host: value,
    Ok: value,
    ok: value,
  });
  assert.deepEqual(headers, [['Ok', '1']]);
  assert.deepEqual(Object.keys(others), ['a b', 'Host', 'ok']);
});

/** The types that the spelling of a header distinguishes. */
const spelt = fc.oneof(
  fc.constant<PropertyValue>({ type: 'null' }),
  fc.boolean().map((value): PropertyValue => ({ type: 'boolean', value })),
  wholeText.map((value): PropertyValue => ({ type: 'string', value })),
  fc
    .date({ min: new Date(0), max: new Date(253_402_300_799_000), noInvalidDate: true })
    .map((date): PropertyValue => ({ type: 'string', value: date.toUTCString() })),
  fc.date({ min: new Date(0), max: new Date(253_402_300_799_000), noInvalidDate: true }).map(
    (date): PropertyValue => ({
      type: 'dateTime',
      value: Math.floor(date.getTime() / 1000) * 1000,
    }),
  ),
  fc.integer().map((value): PropertyValue => ({ type: 'int', value })),
  fc.double().map((value): PropertyValue => ({ type: 'double', value })),
  fc.integer().map((value): PropertyValue => ({ type: 'double', value })),
  fc
    .bigInt({ min: 2n ** 31n, max: 2n ** 63n - 1n })
    .map((value): PropertyValue => ({ type: 'long', value })),
);

test('every type that a header can express is restored', () => {
  fc.assert(
    fc.property(fc.dictionary(headerName, spelt, { maxKeys: 5 }), (sent) => {
      assert.deepEqual(
        roundTrip(sent),
        Object.fromEntries(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1))),
      );
    }),
  );
});

test('any properties become valid headers, and none is lost', () => {
  fc.assert(
    fc.property(properties, (sent) => {
      const { headers, others } = printPropertyHeaders(sent);
      assert.equal(headers.length + Object.keys(others).length, Object.keys(sent).length);
      assert.doesNotThrow(() => new Headers(printed(sent)));
    }),
  );
});

test('any header value is read or refused, without a fault', () => {
  const headerValue = fc.stringMatching(/^[!-~ \x80-\xff]{0,40}$/);
  fc.assert(
    fc.property(headerValue, (value) => {
      try {
        readOne(value);
      } catch (error) {
        assert.ok(error instanceof BrokerError);
      }
    }),
  );
});

test('a type without a spelling of its own is read as the nearest type', () => {
  fc.assert(fc.property(propertyValue, (value) => assert.ok(roundTrip({ p: value })['p'])));
});

test('properties that are too long are refused with limit and length', () => {
  const text = (length: number): PropertyValue => ({
    type: 'string',
    value: 'ü'.repeat(length / 2),
  });
  requirePropertiesFit({ a: text(32768) });
  assert.throws(() => requirePropertiesFit({ a: text(32770) }), {
    code: 'ArgumentError',
    message: "The property 'a' is 32770 bytes long; the limit is 32768.",
  });
  assert.throws(() => requirePropertiesFit({ a: text(32768), b: text(32768) }), {
    message: 'The properties of the message are 65538 bytes long; the limit is 65536.',
  });
});
