import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message } from '../../../shared/domain/messages/message.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { brotli } from '../../../shared/storage/blocks/compression.ts';
import { decodeMessages, encodeMessages } from '../../../shared/storage/blocks/message-codec.ts';
import { properties, wholeText } from '../../support/message-arbitraries.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);
const message = (more: Partial<Message> = {}): Message => ({
  messageId: 'm',
  body: bytes(1, 2, 3),
  properties: {},
  ...more,
});

/** Converts Buffers to byte arrays, which compare as equal; all else stays the same. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

async function throughStorage(messages: readonly (Message | undefined)[]): Promise<unknown> {
  return plain(await decodeMessages(await encodeMessages(messages, brotli), brotli));
}

const VALUES: readonly PropertyValue[] = [
  { type: 'null' },
  { type: 'boolean', value: true },
  { type: 'boolean', value: false },
  { type: 'string', value: '' },
  { type: 'string', value: '-0' },
  { type: 'string', value: 'x\u0000y\u{1f600}\ufeff' },
  { type: 'char', value: 'ß' },
  { type: 'uri', value: 'https://example.org/?a=b#c' },
  { type: 'guid', value: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547' },
  { type: 'byte', value: 255 },
  { type: 'sbyte', value: -128 },
  { type: 'short', value: -32_768 },
  { type: 'ushort', value: 65_535 },
  { type: 'int', value: 0 },
  { type: 'int', value: 2 ** 31 - 1 },
  { type: 'int', value: -(2 ** 31) },
  { type: 'uint', value: 2 ** 32 - 1 },
  { type: 'float', value: 7 },
  { type: 'float', value: -0 },
  { type: 'float', value: Number.NaN },
  { type: 'float', value: Number.POSITIVE_INFINITY },
  { type: 'double', value: 7 },
  { type: 'double', value: 0 },
  { type: 'double', value: -0 },
  { type: 'double', value: 0.1 },
  { type: 'double', value: Number.NaN },
  { type: 'double', value: Number.POSITIVE_INFINITY },
  { type: 'double', value: Number.NEGATIVE_INFINITY },
  { type: 'double', value: Number.MAX_VALUE },
  { type: 'double', value: Number.MIN_VALUE },
  { type: 'double', value: 2 ** 53 },
  { type: 'double', value: 2 ** 64 },
  { type: 'long', value: 0n },
  { type: 'long', value: 7n },
  { type: 'long', value: 2n ** 63n - 1n },
  { type: 'long', value: -(2n ** 63n) },
  { type: 'long', value: 2n ** 53n + 1n },
  { type: 'ulong', value: 2n ** 64n - 1n },
  { type: 'dateTime', value: Date.UTC(2026, 0, 1) },
  { type: 'dateTime', value: -62_135_596_800_000 },
  { type: 'dateTime', value: 0, text: '1970-01-01T00:00:00' },
  { type: 'dateTimeOffset', value: 3_155_378_975_999_999_999n },
  { type: 'timeSpan', value: -(2n ** 63n) },
  { type: 'decimal', value: Uint8Array.from({ length: 16 }, (_, i) => 255 - i) },
  { type: 'bytes', value: new Uint8Array() },
  { type: 'bytes', value: bytes(0, 128, 255) },
];

for (const value of VALUES) {
  const shown = 'value' in value ? fc.stringify(value.value) : '';
  test(`the ${value.type} ${shown} keeps its type and its value`, async () => {
    const sent = message({ properties: { p: value } });
    assert.deepEqual(await throughStorage([sent]), [sent]);
  });
}

test('properties keep their names, whatever they are, and their order', async () => {
  const names = ['z', 'a', '', '__proto__', 'constructor', 'toString', 'Größe', '\u0000', '10'];
  const sent = message({
    properties: Object.fromEntries(
      names.map((name): [string, PropertyValue] => [name, { type: 'string', value: name }]),
    ),
  });
  const [received] = await decodeMessages(await encodeMessages([sent], brotli), brotli);
  assert.ok(received);
  assert.deepEqual(Object.keys(received.properties), Object.keys(sent.properties));
  assert.deepEqual(plain(received), sent);
  assert.equal(Object.getPrototypeOf(received.properties), Object.prototype);
});

test('a message keeps all fields of its sender and of the service', async () => {
  const full: Message = {
    messageId: 'm',
    body: bytes(0, 255),
    properties: { p: { type: 'null' } },
    contentType: 'text/plain',
    label: '',
    correlationId: 'c',
    sessionId: '',
    partitionKey: 'pk',
    timeToLiveMs: 0.5,
    to: 't',
    replyTo: 'r',
    replyToSessionId: 'rs',
    viaPartitionKey: 'vpk',
    scheduledEnqueueAt: 0,
    forcePersistence: false,
    enqueuedSequenceNumber: 2n ** 63n - 1n,
    deadLetterSource: 'q',
    hops: 0,
    amqp: bytes(9),
  };
  assert.deepEqual(await throughStorage([full]), [full]);
  for (const enqueuedSequenceNumber of [0n, 1n, 2n ** 31n, 2n ** 53n + 1n]) {
    const one = { ...full, enqueuedSequenceNumber };
    assert.deepEqual(await throughStorage([one]), [one]);
  }
  assert.deepEqual(await throughStorage([message()]), [message()]);
});

test('an absent message keeps its place', async () => {
  const list = [undefined, message({ messageId: 'a' }), undefined, message({ messageId: 'b' })];
  assert.deepEqual(await throughStorage(list), list);
  assert.deepEqual(await throughStorage([]), []);
});

test('text and zeros are compressed; incompressible bytes are stored as they are', async () => {
  const size = async (body: Uint8Array) =>
    (await encodeMessages([message({ body })], brotli)).byteLength;
  assert.ok((await size(new Uint8Array(100_000))) < 200);
  assert.ok((await size(Buffer.from('{"a":1,"b":[true,null]},'.repeat(1000)))) < 500);
  assert.ok((await size(randomBytes(100_000))) < 100_040);
});

const text = fc.option(wholeText, { nil: undefined });
const storedMessage: fc.Arbitrary<Message> = fc
  .record({
    messageId: wholeText,
    body: fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      fc.nat(5000).map((length) => new Uint8Array(length)),
    ),
    properties: properties as fc.Arbitrary<Properties>,
    label: text,
    sessionId: text,
    timeToLiveMs: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
    enqueuedSequenceNumber: fc.option(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), {
      nil: undefined,
    }),
    forcePersistence: fc.option(fc.boolean(), { nil: undefined }),
    amqp: fc.option(fc.uint8Array({ maxLength: 50 }), { nil: undefined }),
  })
  .map(
    (fields) =>
      Object.fromEntries(
        Object.entries(fields).filter(([, value]) => value !== undefined),
      ) as unknown as Message,
  );

test('all messages are decoded exactly as they were encoded', async () => {
  const list = fc.array(fc.option(storedMessage, { nil: undefined, freq: 8 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(list, async (messages) => {
      assert.deepEqual(await throughStorage(messages), messages.map(plain));
    }),
    { numRuns: 300 },
  );
});
