import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createSubscriptions, createTopic, subscription } from '../../support/topic-entities.ts';
import { settlementOf } from '../queues/queue.ts';

const NAMES = Array.from({ length: 10 }, (_, i) => subscription(`s${i}`));

// Blocks of 25 messages, which stay within one unit with every message locked, cost 99 and 233 when all are locked at
// once, and 139 and 393 when ten are. See docs/decisions/0001-blocks-of-34-slots.md.
for (const [count, take, most] of [
  [30, 30, 84],
  [30, 10, 104],
  [100, 100, 248],
  [100, 10, 368],
] as const) {
  test(`${count} messages with times to live of their own, published to 10 subscriptions and received ${take} at a time, cost at most ${most} write units`, async (t) => {
    const broker = await startBroker(t);
    await createTopic(broker);
    await createSubscriptions(broker, NAMES);
    expectStatus(await broker.send('t', 'warm'), 201);
    for (const path of NAMES) assert.equal((await broker.receiveAndDeleteMany(path, 2)).length, 1);
    const batch = Array.from({ length: count }, (_, i) => ({
      Body: randomBytes(100).toString('hex'),
      BrokerProperties: { TimeToLive: 3600 + i },
    }));
    const { write } = await broker.units(async () => {
      expectStatus(await broker.sendBatch('t', batch), 201);
      for (const path of NAMES) {
        for (let left = count; left > 0; left -= take) {
          const held = await broker.peekLockMany(path, take);
          assert.equal(held.length, Math.min(take, left));
          const done = held.map((message) => settlementOf(message, 'complete'));
          const outcomes = await broker.settle(path, done);
          assert.ok(outcomes.every(({ settled }) => settled));
        }
      }
    });
    t.diagnostic(`${write} write units`);
    assert.ok(write <= most, `${write} write units`);
  });
}
