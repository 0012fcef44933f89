import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { decodedAccount, readBody } from '../../amqp/messages/bodies.ts';
import { toProperties } from '../../amqp/messages/property-values.ts';
import { SECTION } from '../../amqp/messages/sections.ts';
import { compact } from '../../amqp/wire/compact.ts';
import { Decoder } from '../../amqp/wire/decode.ts';
import { encode } from '../../amqp/wire/encode.ts';
import { encodeFrame } from '../../amqp/wire/frames.ts';
import { writePerformative } from '../../amqp/wire/performatives.ts';
import { binary, described, list, mapOf, str, uuid } from '../../amqp/wire/value.ts';
import { GatewayFixture, turns } from '../support/amqp-peer.ts';

/** Row 1: a few retained bytes do not retain the whole chunk in which they arrived. */

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** An empty frame: its data offset points to its end. */
function emptyFrame(): Buffer {
  const frame = Buffer.alloc(1020);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt8(255, 4);
  return frame;
}

const padding = (count: number) => Array<Buffer>(count).fill(emptyFrame());

/** Bytes in memory of their own, and a weak reference to that memory. */
function chunkOf(parts: readonly Uint8Array[]) {
  const all = Buffer.concat(parts);
  const chunk = Buffer.allocUnsafeSlow(all.length);
  chunk.set(all);
  return { chunk, ref: new WeakRef(chunk.buffer) };
}

async function isKept(ref: WeakRef<ArrayBufferLike>): Promise<boolean> {
  await turns();
  collect();
  await turns();
  collect();
  return ref.deref() !== undefined;
}

test('row 1: the first part of a delivery retains no chunk', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  peer.attach(0, 'sender', '$cbs');
  await turns();
  const first = writePerformative({
    kind: 'transfer',
    handle: 0,
    deliveryId: 0,
    deliveryTag: Buffer.of(1),
    more: true,
    state: { kind: 'transactional', transaction: Buffer.alloc(16, 7) },
  });
  const give = () => {
    const { chunk, ref } = chunkOf([encodeFrame('amqp', 0, first, Buffer.of(1)), ...padding(63)]);
    peer.take(chunk);
    return ref;
  };
  assert.equal(await isKept(give()), false);
});

test('row 1: an unanswered attach retains no chunk, and its answer echoes it unchanged', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer('root');
  fixture.holdReads();
  const octets = list([
    binary(Buffer.of(1)),
    uuid(Buffer.alloc(16, 2)),
    { type: 'decimal128', value: Buffer.alloc(16, 3) },
  ]);
  const source = described(0x28n, list([str('q'), octets]));
  const target = described(0x29n, list([str('there'), octets]));
  const attach = writePerformative({
    ...{ kind: 'attach', name: 'l', handle: 0, role: 'receiver' },
    ...{ source, target, properties: octets },
  });
  const give = () => {
    const { chunk, ref } = chunkOf([encodeFrame('amqp', 0, attach), ...padding(63)]);
    peer.take(chunk);
    return ref;
  };
  assert.equal(await isKept(give()), false);
  assert.deepEqual(peer.said('attach'), []);
  fixture.releaseReads();
  await turns();
  const [answer] = peer.said('attach');
  assert.ok(answer?.source !== undefined && answer.target !== undefined);
  assert.deepEqual(encode(answer.source), encode(source));
  assert.deepEqual(encode(answer.target), encode(target));
});

test('row 1: decoded properties do not retain the bytes from which they were decoded', async () => {
  const map = mapOf({
    decimal: { type: 'decimal128', value: Buffer.alloc(16, 1) },
    guid: uuid(Buffer.alloc(16, 2)),
    bytes: binary(Buffer.of(3)),
  });
  const read = () => {
    const { chunk, ref } = chunkOf([encode(map, binary(Buffer.alloc(60_000)))]);
    return { ref, properties: toProperties(new Decoder(chunk).read()).properties };
  };
  const { ref, properties } = read();
  assert.equal(await isKept(ref), false);
  assert.deepEqual(Object.keys(properties), ['decimal', 'guid', 'bytes']);
});

test('row 1: a small body of several data sections has its own memory', () => {
  const section = described(SECTION.data, binary(Buffer.of(7)));
  const account = decodedAccount(0, () => {});
  const { body } = readBody([section, section], account);
  assert.deepEqual([...body], [7, 7]);
  assert.equal(body.buffer.byteLength, 2);
});

test('row 1: the beginning of a frame retains no chunk', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const give = () => {
    const { chunk, ref } = chunkOf([...padding(64), emptyFrame().subarray(0, 5)]);
    peer.take(chunk);
    return ref;
  };
  assert.equal(await isKept(give()), false);
  peer.take(emptyFrame().subarray(5));
  await turns();
  assert.deepEqual(peer.said('close'), [], 'the frame is complete');
});

test('row 1: a small part of a chunk that arrives alone retains no chunk', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const give = () => {
    const { chunk, ref } = chunkOf([...padding(64)]);
    for (let at = 0; at < 30; at++) peer.take(chunk.subarray(at, at + 1));
    return ref;
  };
  assert.equal(await isKept(give()), false);
});

test('row 1: compacting copies a small part of a buffer into its own memory', () => {
  const large = Buffer.alloc(1000, 7);
  assert.equal(compact(large.subarray(0, 500)).buffer, large.buffer);
  const copy = compact(large.subarray(0, 499));
  assert.equal(copy.buffer.byteLength, 499);
  assert.deepEqual(copy, Buffer.alloc(499, 7));
});
