import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { isoInstant } from '../queues/queue.ts';

/** Scheduled messages of a queue that forwards, which the sweep sends on when they come due. */

const COUNT = 20;
const BODIES = Array.from({ length: COUNT }, (_, i) => `${i}`);

/** Starts `source`, which forwards to `target`, with messages that come due one second after the other. */
async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
  for (const [i, body] of BODIES.entries()) {
    const seconds = 60 + i;
    const at = { ScheduledEnqueueTimeUtc: isoInstant({ seconds }) };
    await broker.schedule('source', [{ Body: body, BrokerProperties: at }]);
  }
  return broker;
}

async function bodiesIn(broker: TestBroker): Promise<readonly string[]> {
  return (await broker.receiveAndDeleteMany('target', COUNT)).map(({ body }) => body);
}

test('they arrive in the order of their times', async (t) => {
  const broker = await start(t);
  broker.clock.advance({ minutes: 5 });
  await broker.sweep();
  await broker.idle();
  assert.deepEqual(await bodiesIn(broker), BODIES);
});
