import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compact } from '../../amqp/wire/compact.ts';
import { encodeFrame } from '../../amqp/wire/frames.ts';
import { writePerformative } from '../../amqp/wire/write-performative.ts';
import { GatewayFixture, turns } from '../support/amqp-peer.ts';

/** Row 1: few bytes that are kept do not keep the chunk that they came in. */

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** A frame that says nothing: its data begins at its end. */
function emptyFrame(): Buffer {
  const frame = Buffer.alloc(1020);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt8(255, 4);
  return frame;
}

const padding = (count: number) => Array<Buffer>(count).fill(emptyFrame());

/** Bytes in memory of their own, and whether that is still there. */
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

test('row 1: the first part of a delivery keeps no chunk', async (t) => {
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

test('row 1: the begin of a frame keeps no chunk', async (t) => {
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
  assert.deepEqual(peer.said('close'), [], 'the frame is whole');
});

test('row 1: a small part of a chunk that comes alone keeps no chunk', async (t) => {
  const fixture = new GatewayFixture(t);
  const peer = await fixture.peer();
  const give = () => {
    const { chunk, ref } = chunkOf([...padding(64)]);
    for (let at = 0; at < 30; at++) peer.take(chunk.subarray(at, at + 1));
    return ref;
  };
  assert.equal(await isKept(give()), false);
});

test('row 1: a copy has memory of its own', () => {
  const large = Buffer.alloc(1000, 7);
  assert.equal(compact(large.subarray(0, 500)).buffer, large.buffer);
  const copy = compact(large.subarray(0, 499));
  assert.equal(copy.buffer.byteLength, 499);
  assert.deepEqual(copy, Buffer.alloc(499, 7));
});
