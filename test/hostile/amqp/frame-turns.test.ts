import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { encodeFrame } from '../../../amqp/wire/frames.ts';
import { described, list, NULL, ubyte, uint } from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { GatewayFixture } from '../../support/amqp-peer.ts';

/** Row 12: one frame may hold a thousand values, and takes as long as many frames with few. */

const { performativeValues, authorized } = BUDGETS.connection;
const FRAMES = authorized.turnFrames / 2;

/** A disposition of a missing delivery, whose state holds many values. */
function disposition(values: number): Buffer {
  const state = described(0x24n, list(Array.from({ length: values }, () => ubyte(7))));
  const fields = [{ type: 'boolean', value: true } as const, uint(0), NULL, NULL, state];
  return encodeFrame('amqp', 0, described(0x15n, list(fields)));
}

/** Whether that many frames, which arrive at once, take more than a turn. */
async function isTurnOverAfter(t: TestContext, frame: Buffer): Promise<boolean> {
  const peer = await new GatewayFixture(t).peer('root');
  // Counted and not timed, so that the speed of the machine does not matter.
  t.mock.method(performance, 'now', () => 0);
  peer.take(Buffer.concat(Array<Buffer>(FRAMES).fill(frame)));
  assert.equal(peer.isPaused, peer.connection.limits.isTurnOver);
  return peer.isPaused;
}

test('row 12: frames with many values end the turn of a connection sooner', async (t) => {
  assert.equal(await isTurnOverAfter(t, disposition(performativeValues - 10)), true);
});

test('row 12: dispositions of usual clients do not', async (t) => {
  assert.equal(await isTurnOverAfter(t, disposition(0)), false);
});
