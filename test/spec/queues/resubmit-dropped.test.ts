import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { crashingClient } from '../../support/crashing-client.ts';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createRuledSubscription,
  createTopic,
  EVERYTHING,
  sql,
} from '../../support/topic-entities.ts';
import { requireRefusal } from '../management/refusal.ts';
import { bodies, settlementOf } from './queue.ts';

/** Dead letters that would be dropped on their way stay where they are (docs/semantics/receiving.md, L16 and L21). */

const UNMATCHED = /NoMatchingSubscription.*they stay where they are/s;
const RED = { only: { filter: sql("sys.Label = 'red'") } };

/** A queue `q` with these dead letters, and a topic `t` that wants red messages. */
async function start(
  t: TestContext,
  labels: readonly string[],
  options: StartOptions = {},
): Promise<TestBroker> {
  const broker = await startBroker(t, options);
  expectStatus(await broker.createQueue('q'), 201);
  await createTopic(broker);
  await createRuledSubscription(broker, 't/subscriptions/s', RED);
  for (let done = 0; done < labels.length; done += 100) {
    const messages = labels.slice(done, done + 100).map((Label, i) => ({
      Body: `${Label}${done + i}`,
      BrokerProperties: { Label },
      UserProperties: {},
    }));
    expectStatus(await broker.sendBatch('q', messages), 201);
  }
  const next = () => broker.peekLockMany('q', 500);
  for (let held = await next(); held.length > 0; held = await next()) {
    const settlements = held.map((one) => settlementOf(one, 'deadLetter'));
    await broker.settle('q', settlements);
  }
  return broker;
}

const DEAD = 'q/$deadletterqueue';
const resubmitted = { resubmitted: 2 };

test('a queue that forwards to a topic gets only what the topic wants', async (t) => {
  const broker = await start(t, ['red', 'blue', 'red', 'blue']);
  expectStatus(await broker.createQueue('via', { ForwardTo: 't' }), 201);
  expectStatus(await broker.createQueue('far', { ForwardTo: 'via' }), 201);
  assert.deepEqual((await broker.post(DEAD, '$resubmit', { to: 'far' })).json(), resubmitted);
  assert.deepEqual(bodies(await broker.peek('t/subscriptions/s')), ['red0', 'red2']);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['blue1', 'blue3']);
  for (const to of ['far', 'via', 't']) {
    requireRefusal(await broker.post(DEAD, '$resubmit', { to }), 404, UNMATCHED);
  }
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['blue1', 'blue3']);
});

test('a message goes if one of its copies arrives, whatever becomes of the others', async (t) => {
  const broker = await start(t, ['red', 'blue', 'red']);
  await createTopic(broker, 'all');
  const onward = { ForwardTo: 't' };
  const every = { every: { filter: EVERYTHING } };
  await createRuledSubscription(broker, 'all/subscriptions/onward', every, onward);
  assert.deepEqual((await broker.post(DEAD, '$resubmit', { to: 'all' })).json(), resubmitted);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['blue1']);
  await createRuledSubscription(broker, 'all/subscriptions/kept', every);
  assert.deepEqual((await broker.post(DEAD, '$resubmit', { to: 'all' })).json(), {
    resubmitted: 1,
  });
  assert.deepEqual(bodies(await broker.peek('all/subscriptions/kept')), ['blue1']);
});

test('the main queue of a queue that forwards gets only what is not dropped on', async (t) => {
  const broker = await start(t, ['red', 'blue', 'red']);
  expectStatus(await broker.updateQueue('q', { ForwardTo: 't' }), 200);
  assert.deepEqual((await broker.post(DEAD, '$resubmit', {})).json(), resubmitted);
  assert.deepEqual(bodies(await broker.peek('t/subscriptions/s')), ['red0', 'red2']);
  for (const body of [{}, { to: 'q' }]) {
    requireRefusal(await broker.post(DEAD, '$resubmit', body), 404, UNMATCHED);
  }
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['blue1']);
});

for (const when of ['before it', 'after it'] as const) {
  test(`a crash at any write, ${when}, neither loses nor doubles what is forwarded again`, async (t) => {
    const { client, crashAt, restart } = crashingClient();
    t.after(() => client.destroy());
    for (let write = 1, crashed = true; crashed; write++) {
      assert.ok(write < 20, 'a resubmission makes fewer writes');
      const broker = await start(t, ['red', 'red'], { client });
      expectStatus(await broker.updateQueue('q', { ForwardTo: 't' }), 200);
      crashAt(write, when);
      await broker.post(DEAD, '$resubmit', {});
      crashed = restart();
      if (write === 1) assert.ok(crashed);
      const beside = await startBroker(t, { beside: broker });
      beside.clock.advance({ minutes: 10 });
      await beside.sweep();
      const there = bodies(await beside.peek('t/subscriptions/s'));
      const left = bodies(await beside.peek(DEAD));
      assert.deepEqual([...there, ...left].sort(), ['red0', 'red1'], `write ${write}`);
    }
  });
}

test('a call looks no further than 1000 messages that stay, and a named one goes', async (t) => {
  const labels = Array.from({ length: 1001 }, (_, i) => (i < 1000 ? 'blue' : 'red'));
  const broker = await start(t, labels);
  requireRefusal(await broker.post(DEAD, '$resubmit', { to: 't' }), 404, UNMATCHED);
  const named = { to: 't', sequenceNumbers: [1001] };
  assert.deepEqual((await broker.post(DEAD, '$resubmit', named)).json(), { resubmitted: 1 });
});
