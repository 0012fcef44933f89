import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decoder, decode } from '../../../amqp/wire/decode.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import { FrameReader } from '../../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../../amqp/wire/performatives.ts';
import type { AmqpValue } from '../../../amqp/wire/value.ts';
import { DecodeError, TooManyValuesError } from '../../../amqp/wire/wire-error.ts';
import { amqpValue } from '../../support/amqp-arbitraries.ts';

/** Makes buffers and plain byte arrays equal. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, part) => {
      if (typeof part === 'bigint') return `${part}n`;
      if (part?.type === 'Buffer' && Array.isArray(part.data)) return part.data;
      if (Object.is(part, -0)) return '-0';
      if (typeof part === 'number' && !Number.isFinite(part)) return String(part);
      return part instanceof Uint8Array ? Array.from(part) : part;
    }),
  );

test('every value is decoded as it was encoded, with its type', () => {
  fc.assert(
    fc.property(amqpValue, (value) => {
      assert.deepEqual(plain(decode(encode(value))), plain(value));
    }),
    { numRuns: 1000 },
  );
});

test('the longest encodings of values are decoded too', () => {
  const cases: readonly [string, AmqpValue][] = [
    ['5600', { type: 'boolean', value: false }],
    ['5601', { type: 'boolean', value: true }],
    ['7000000007', { type: 'uint', value: 7 }],
    ['800000000000000007', { type: 'ulong', value: 7n }],
    ['71ffffffff', { type: 'int', value: -1 }],
    ['81ffffffffffffffff', { type: 'long', value: -1n }],
    ['b1000000026869', { type: 'string', value: 'hi' }],
    ['d00000000400000000', { type: 'list', value: [] }],
    ['c00100', { type: 'list', value: [] }],
    ['e0020071', { type: 'array', element: 'int', value: [] }],
  ];
  for (const [hex, value] of cases) {
    assert.deepEqual(plain(decode(Buffer.from(hex, 'hex'))), plain(value), hex);
  }
});

test('invalid bytes are refused, without other errors', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decode(bytes);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    { numRuns: 5000 },
  );
});

test('a value with a changed byte is refused or decoded as another value, without other errors', () => {
  fc.assert(
    fc.property(amqpValue, fc.nat(), fc.nat({ max: 255 }), (value, place, byte) => {
      const bytes = encode(value);
      bytes[place % bytes.length] = byte;
      try {
        decode(bytes);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});

test('a few bytes that announce a large value are refused at once', () => {
  const bombs = [
    'd0fffffffffffffffe', // a list of 4 GB
    'd000000008ffffffff40404040', // more items than bytes
    'f0000000064fffffff40', // an array of nulls
    'b1ffffffff',
    '00'.repeat(2000),
    'c0'.repeat(100),
    `${'d00000ffff00000001'.repeat(1000)}`,
  ];
  for (const bomb of bombs) {
    assert.throws(() => decode(Buffer.from(bomb, 'hex')), DecodeError, bomb.slice(0, 40));
  }
});

test('frames are read whatever the pieces in which they arrive', () => {
  const frames = Buffer.from('0000000802000000' + '0000000802000003', 'hex');
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 16 }), { maxLength: 6 }), (cuts) => {
      const reader = new FrameReader();
      const channels: number[] = [];
      const places = [0, ...cuts.toSorted((a, b) => a - b), 16];
      for (const [i, end] of places.entries()) {
        reader.push(frames.subarray(places[i - 1] ?? 0, end));
        for (let frame = reader.frame('amqp', 1024); frame; frame = reader.frame('amqp', 1024)) {
          channels.push(frame.channel);
        }
      }
      assert.deepEqual(channels, [0, 3]);
    }),
  );
});

test('a frame that is too long, too short or of another type is refused', () => {
  for (const hex of [
    '00010001' + '02000000',
    '0000000702000000',
    '0000000801000000',
    '0000000802010000',
    '0000000803000000',
  ]) {
    const reader = new FrameReader();
    reader.push(Buffer.from(hex, 'hex'));
    assert.throws(() => reader.frame('amqp', 65_536), DecodeError, hex);
  }
});

test('performatives and errors are written with all fields, for clients that read by position', () => {
  const windows = { nextOutgoingId: 0, incomingWindow: 1, outgoingWindow: 1 };
  const error = { condition: 'amqp:not-found' };
  const counted: readonly (readonly [Performative, number])[] = [
    [{ kind: 'open', containerId: 'c' }, 10],
    [{ kind: 'begin', ...windows }, 8],
    [{ kind: 'attach', name: 'n', handle: 0, role: 'sender' }, 14],
    [{ kind: 'flow', ...windows }, 11],
    [{ kind: 'transfer', handle: 0 }, 11],
    [{ kind: 'disposition', role: 'sender', first: 0 }, 6],
    [{ kind: 'detach', handle: 0 }, 3],
    [{ kind: 'end' }, 1],
    [{ kind: 'close', error }, 1],
  ];
  for (const [performative, count] of counted) {
    const fields = fieldsIn(writePerformative(performative));
    assert.equal(fields.length, count, performative.kind);
    if (performative.kind === 'close') assert.equal(fieldsIn(fields[0]).length, 3);
  }
});

function fieldsIn(value: AmqpValue | undefined): readonly AmqpValue[] {
  assert.ok(value?.type === 'described' && value.value.type === 'list');
  return value.value.value;
}

test('row 5: a decoder reads no more values than its limit, including elements and descriptors', () => {
  const cases: readonly [string, number][] = [
    ['40', 1],
    ['c00403404040', 4], // a list of three
    ['c10402a10040', 3], // a map of one entry
    ['00530140', 3], // a described value, its descriptor, its value
    ['e0020340', 4], // an array of three nulls
    ['e004025001ff', 3],
    ['e0070200530150aabb', 6], // an array of two described values, with one descriptor
  ];
  for (const [hex, values] of cases) {
    const bytes = Buffer.from(hex, 'hex');
    const decoder = new Decoder(bytes, values);
    decoder.read();
    assert.equal(decoder.values, values, hex);
    assert.throws(() => new Decoder(bytes, values - 1).read(), TooManyValuesError, hex);
  }
});

test('row 5: values without bytes are created once and frozen', () => {
  for (const hex of ['40', '41', '42', '43', '44', '45', 'a000', 'a100', 'a300', 'b000000000']) {
    const value = decode(Buffer.from(hex, 'hex'));
    assert.equal(decode(Buffer.from(hex, 'hex')), value, hex);
    assert.ok(Object.isFrozen(value), hex);
    if (value.type === 'list') assert.ok(Object.isFrozen(value.value));
  }
});
