import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  isBatchContentType,
  parseBatch,
  printBatch,
} from '../../../lambdas/http/format/batch-format.ts';
import type { LockedMessage, OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { properties, wholeText } from '../../support/message-arbitraries.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const parse = (json: string): readonly OutgoingMessage[] => parseBatch(bytes(json));

function locked(message: OutgoingMessage): LockedMessage {
  return {
    message: { ...message, messageId: message.messageId ?? 'm' },
    sequenceNumber: 1n,
    enqueuedAt: 0,
    failedDeliveries: 0,
    state: 'Active',
    lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547',
    lockedUntil: 60_000,
  };
}

const roundTrip = (sent: readonly OutgoingMessage[]): readonly OutgoingMessage[] =>
  parse(printBatch(sent.map(locked)));

test('the sample of the documentation is two messages', () => {
  const batch = parse(`[
    { "Body": "This is the first message",
      "BrokerProperties": { "Label": "M1", "TimeToLiveTimeSpan": "0.00:00:40" } },
    { "Body": "This is the second message",
      "UserProperties": { "Priority": "Low" }, "Unknown": [] }
  ]`);
  assert.deepEqual(batch, [
    { body: bytes('This is the first message'), label: 'M1', timeToLiveMs: 40_000, properties: {} },
    {
      body: bytes('This is the second message'),
      properties: { Priority: { type: 'string', value: 'Low' } },
    },
  ]);
});

test('the content type of a batch is recognized whatever its case and parameters', () => {
  const yes = 'Application/Vnd.Microsoft.ServiceBus.JSON ; charset=utf-8';
  assert.equal(isBatchContentType(yes), true);
  assert.equal(isBatchContentType('application/json'), false);
  assert.equal(isBatchContentType(null), false);
});

test('the spelling of a number determines its type, and no digit is lost', () => {
  const [message] = parse(`[{"Body":"\\"n\\":7.0, 9007199254740993","UserProperties":{
    "int":7, "least":-2147483648, "long":2147483648, "exact":9007199254740993,
    "min":-9223372036854775808,"ulong":18446744073709551615,"double":7.0,"half":0.5,"e":1e3,"minus":-0}}]`);
  assert.deepEqual(message?.body, bytes('"n":7.0, 9007199254740993'));
  assert.deepEqual(message?.properties, {
    int: { type: 'int', value: 7 },
    least: { type: 'int', value: -2147483648 },
    long: { type: 'long', value: 2147483648n },
    exact: { type: 'long', value: 9007199254740993n },
    min: { type: 'long', value: -9223372036854775808n },
    ulong: { type: 'ulong', value: 18446744073709551615n },
    double: { type: 'double', value: 7 },
    half: { type: 'double', value: 0.5 },
    e: { type: 'double', value: 1000 },
    minus: { type: 'int', value: 0 },
  });
});

test('typed values are read', () => {
  const rows: readonly [string, PropertyValue][] = [
    ['{"$long":"5"}', { type: 'long', value: 5n }],
    ['{"$long":5}', { type: 'long', value: 5n }],
    ['{"$long":9007199254740993}', { type: 'long', value: 9007199254740993n }],
    ['{"$double":7}', { type: 'double', value: 7 }],
    ['{"$double":7.0}', { type: 'double', value: 7 }],
    ['{"$double":"NaN"}', { type: 'double', value: Number.NaN }],
    ['{"$int":-1}', { type: 'int', value: -1 }],
    ['{"$byte":255}', { type: 'byte', value: 255 }],
    [
      '{"$guid":"7DA9CFD5-40D5-4BB1-8D64-EC5A52E1C547"}',
      { type: 'guid', value: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547' },
    ],
    ['{"$date":"2026-01-15T12:00:00.5Z"}', { type: 'dateTime', value: 1768478400500 }],
    ['{"$bytes":"AQL/"}', { type: 'bytes', value: Uint8Array.of(1, 2, 255) }],
    ['{"$timeSpan":"-1"}', { type: 'timeSpan', value: -1n }],
    ['{"$char":"😀"}', { type: 'char', value: '😀' }],
    ['null', { type: 'null' }],
  ];
  for (const [json, value] of rows) {
    const [message] = parse(`[{"Body":"","UserProperties":{"p":${json}}}]`);
    assert.deepEqual(message?.properties, { p: value }, json);
  }
});

const REFUSED: readonly [string, RegExp][] = [
  ['', /^The batch is not valid JSON\.$/],
  ['{}', /must be a JSON array/],
  ['[]', /holds no message/],
  [`[${Array(4501).fill('{}').join()}]`, /holds 4501 messages; the limit is 4500/],
  ['[1]', /^Message 0 of the batch: It must be a JSON object\.$/],
  ['[{"Body":"a"},{}]', /^Message 1 of the batch: Body is required and must be a text\.$/],
  ['[{"Body":7.0}]', /^Message 0 of the batch: Body is required/],
  ['[{"Body":"\\ud800"}]', /surrogate/],
  ['[{"Body":"?","BodyEncoding":"base64"}]', /not valid base64/],
  ['[{"Body":"AA","BodyEncoding":"base64"}]', /not valid base64/],
  ['[{"Body":"a","BodyEncoding":"gzip"}]', /may only be 'base64'/],
  ['[{"Body":"a","BrokerProperties":[]}]', /BrokerProperties must be a JSON object/],
  ['[{"Body":"a","BrokerProperties":{"TimeToLive":-1}}]', /greater than zero/],
  ['[{"Body":"a","UserProperties":1}]', /UserProperties must be a JSON object/],
  ['[{"Body":"a","UserProperties":{"x":[]}}]', /The property 'x' is a list/],
  ['[{"Body":"a","UserProperties":{"x":{}}}]', /The property 'x' is an object/],
  ['[{"Body":"a","UserProperties":{"x":{"$long":"1","y":1}}}]', /The property 'x' is an object/],
  ['[{"Body":"a","UserProperties":{"x":{"$int":2147483648}}}]', /no value of the type \$int/],
  ['[{"Body":"a","UserProperties":{"x":{"$guid":"1"}}}]', /no value of the type \$guid/],
  ['[{"Body":"a","UserProperties":{"x":{"$decimal":"AQL/"}}}]', /no value of the type \$decimal/],
  ['[{"Body":"a","UserProperties":{"x":{"constructor":1}}}]', /The property 'x' is an object/],
  ['[{"Body":"a","UserProperties":{"x":99999999999999999999}}]', /fits no 64 bits/],
  ['[{"Body":"a","UserProperties":{"x":1e400}}]', /fits no 64 bits/],
  [`[{"Body":"a","UserProperties":{"x":${'9'.repeat(1e6)}}}]`, /fits no 64 bits/],
  [`[{"Body":"a","UserProperties":{"x":01234567890123456789}}]`, /fits no 64 bits|not valid JSON/],
  [`[{"Body":"a","UserProperties":{"x":"${'y'.repeat(40_000)}"}}]`, /40000 bytes .* 32768/],
  [`[{"Body":"a","UserProperties":${'{"x":'.repeat(60)}1${'}'.repeat(60)}}]`, /an object/],
  [
    `[{"Body":"a","UserProperties":${'{"x":'.repeat(50_000)}1${'}'.repeat(50_000)}}]`,
    /64 lists and objects deep/,
  ],
];
for (const [json, message] of REFUSED) {
  test(`the batch ${json.slice(0, 70)} is refused`, () => {
    assert.throws(() => parse(json), { code: 'ArgumentError', message });
  });
}

test('a batch that is not UTF-8 is refused, a byte order mark before it is not', () => {
  assert.throws(() => parseBatch(Uint8Array.of(0x5b, 0xff, 0x5d)), { code: 'ArgumentError' });
  assert.equal(parse('\ufeff[{"Body":"a"}]').length, 1);
});

test('a property may have the name __proto__', () => {
  const [message] = parse('[{"Body":"","UserProperties":{"__proto__":{"$int":1}},"__proto__":{}}]');
  assert.deepEqual(Object.entries(message?.properties ?? {}), [
    ['__proto__', { type: 'int', value: 1 }],
  ]);
});

test('a received message is printed with its lock', () => {
  const message = { body: bytes('hi "there"'), contentType: 'text/plain', properties: {} };
  assert.equal(
    printBatch([locked(message)]),
    '[{"Body":"hi \\"there\\"","BrokerProperties":{"ContentType":"text/plain","DeliveryCount":1,"EnqueuedSequenceNumber":0,"EnqueuedTimeUtc":"Thu, 01 Jan 1970 00:00:00 GMT","LockToken":"7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547","LockedUntilUtc":"Thu, 01 Jan 1970 00:01:00 GMT","MessageId":"m","SequenceNumber":1,"State":"Active","TimeToLive":922337203685.47754},"UserProperties":{}}]',
  );
});

test('every body is restored byte for byte', () => {
  const body = fc.oneof(
    fc.uint8Array(),
    wholeText.map(bytes),
    fc.constantFrom(bytes('\ufeffwith a mark'), Uint8Array.of(0xed, 0xa0, 0x80), bytes('\0\u2028')),
  );
  fc.assert(
    fc.property(fc.array(body, { minLength: 1, maxLength: 4 }), (bodies) => {
      const sent = bodies.map((one) => ({ body: one, properties: {} }));
      assert.deepEqual(
        roundTrip(sent).map((message) => message.body),
        bodies,
      );
    }),
  );
});

test('every property is restored with its type', () => {
  fc.assert(
    fc.property(properties, (sent) => {
      const [message] = roundTrip([{ body: bytes(''), properties: sent }]);
      assert.deepEqual(entries(message?.properties), entries(sent));
    }),
  );
});

const entries = (of: Properties = {}): [string, PropertyValue][] => Object.entries(of);

test('any JSON is either read or refused, without a fault', () => {
  const hostile = fc
    .json({ maxDepth: 4 })
    .map((json) => `[{"Body":"","UserProperties":{"p":${json}}}]`);
  fc.assert(
    fc.property(hostile, (json) => {
      try {
        parse(json);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'ArgumentError');
      }
    }),
  );
});
