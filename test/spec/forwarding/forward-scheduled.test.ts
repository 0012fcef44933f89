import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { hookedClient, refusedTransaction } from '../../support/hooked-client.ts';
import { startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { isoInstant } from '../queues/queue.ts';

/** Scheduled messages of what forwards, which the process that scheduled them sends on when they come due. */

const COUNT = 20;
const BODIES = Array.from({ length: COUNT }, (_, i) => `${i}`);
/** What one message takes from one queue to another when it comes due, write units. */
const WRITES = 12;
const SUBSCRIPTION = subscription('s');

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

test('they arrive in the order of their times, though the sweep begins at the same moment', async (t) => {
  const broker = await start(t);
  broker.clock.advance({ minutes: 5 });
  await broker.sweep();
  await broker.idle();
  assert.deepEqual(await bodiesIn(broker), BODIES);
});

test('what comes due while earlier ones are still on their way waits for its turn', async (t) => {
  const broker = await start(t);
  broker.clock.advance({ seconds: 59 });
  const { write } = await broker.units(async () => {
    for (const _ of BODIES) broker.clock.advance({ seconds: 1 });
  });
  assert.deepEqual(await bodiesIn(broker), BODIES);
  assert.ok(write <= COUNT * WRITES, `${write} write units for ${COUNT} messages`);
});

test('peeks of a subscription, the timer and the sweep of one process forward what is due at a topic once', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, SUBSCRIPTION);
  for (const [i, body] of BODIES.entries()) {
    const at = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 + i }) };
    await broker.schedule('t', [{ Body: body, BrokerProperties: at }]);
  }
  broker.clock.advance({ seconds: 59 });
  const { write } = await broker.units(async () => {
    const looks: Promise<unknown>[] = [];
    for (const _ of BODIES) {
      broker.clock.advance({ seconds: 1 });
      looks.push(broker.peek(SUBSCRIPTION), broker.sweep());
    }
    await Promise.all(looks);
    await broker.idle();
  });
  const bodies = (await broker.receiveAndDeleteMany(SUBSCRIPTION, COUNT)).map(({ body }) => body);
  assert.deepEqual(bodies, BODIES);
  assert.ok(write <= COUNT * WRITES, `${write} write units for ${COUNT} messages`);
});

test('what comes due while it is still being stored goes on without the sweep', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
  const stored = pauses.pauseNextAnswer(({ command }) => command === 'TransactWriteItemsCommand');
  const at = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 1 }) };
  const scheduling = broker.schedule('source', [{ Body: 'late', BrokerProperties: at }]);
  await stored.reached;
  broker.clock.advance({ seconds: 2 });
  stored.goOn();
  await scheduling;
  await broker.idle();
  assert.deepEqual(await bodiesIn(broker), ['late']);
});

for (const asFunction of [true, false]) {
  const who = asFunction ? 'the sweep' : 'the timer';
  test(`what a peek of the source has made active is sent on by ${who} before what comes due later`, async (t) => {
    const broker = await startBroker(t, { asFunction });
    expectStatus(await broker.createQueue('target'), 201);
    expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
    // In one step of the timer, so that the peek comes first.
    for (const [body, seconds] of [
      ['first', 5.01],
      ['second', 5.05],
    ] as const) {
      const at = { ScheduledEnqueueTimeUtc: isoInstant({ seconds }) };
      await broker.schedule('source', [{ Body: body, BrokerProperties: at }]);
    }
    broker.clock.advance({ ms: 5015 });
    const states = (await broker.peek('source')).map(({ broker: { State } }) => State);
    assert.deepEqual(states, ['Scheduled', 'Active']);
    broker.clock.advance({ minutes: 1 });
    if (asFunction) await broker.sweep();
    await broker.idle();
    assert.deepEqual(await bodiesIn(broker), ['first', 'second']);
  });
}

test('a forward that another process is ahead of waits before it tries again, longer each time', async (t) => {
  const CONFLICTS = 6;
  let conflicts = 0;
  const client = hookedClient(({ command }) => {
    if (command !== 'TransactWriteItemsCommand' || conflicts === 0) return;
    conflicts--;
    throw refusedTransaction();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client, asFunction: true, seed: 'waits' });
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'target' }), 201);
  const waited: number[] = [];
  for (const [i, count] of [0, CONFLICTS].entries()) {
    const at = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 * (i + 1) }) };
    await broker.schedule('source', [{ Body: `${i}`, BrokerProperties: at }]);
    broker.clock.advance({ seconds: 60 });
    const begun = broker.time.now();
    conflicts = count;
    await broker.sweep();
    waited.push(broker.time.now() - begun);
  }
  assert.deepEqual(await bodiesIn(broker), ['0', '1']);
  const [quiet = 0, busy = 0] = waited;
  t.diagnostic(`waited ${quiet} ms, and ${busy} ms after conflicts`);
  assert.ok(busy - quiet >= 300, `${busy - quiet} ms`);
});
