import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRule,
  createRuledSubscription,
  createSubscription,
  createTopic,
  drain,
  drainBodies,
  removeRule,
  sql,
  subscription,
} from '../../support/topic-entities.ts';
import { instant, messageOf, numbers } from '../queues/queue.ts';

const S = subscription('s');
const IN_10 = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };
const IN_20 = { ScheduledEnqueueTimeUtc: instant({ seconds: 20 }) };

async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, S);
  return broker;
}

test('#66 a message scheduled at a topic is counted there, and not in its subscriptions, until it is due', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('t', 'x', IN_10), 201);
  assert.deepEqual(await broker.peek(S), []);
  assert.equal(await broker.peekLock(S), undefined);
  assert.deepEqual(await counts(broker, 't'), { Scheduled: 1, Subscription: 1 });
  assert.deepEqual(await counts(broker, S), {});
  broker.clock.advance({ ms: 9999 });
  assert.equal(await broker.peekLock(S), undefined);
  broker.clock.advance({ ms: 1 });
  assert.deepEqual(await drainBodies(broker, S), ['x']);
  assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
});

test('#63 #66 a due message gets a new sequence number, and its scheduled time as EnqueuedTimeUtc', async (t) => {
  const broker = await start(t);
  const [scheduled] = await broker.schedule('t', [messageOf('x', IN_10)]);
  expectStatus(await broker.send('t', 'y'), 201);
  broker.clock.advance({ seconds: 15 });
  const [y, x] = await drain(broker, S);
  assert.deepEqual([x?.body, y?.body], ['x', 'y']);
  assert.notEqual(x?.broker.SequenceNumber, scheduled);
  assert.ok((x?.broker.SequenceNumber ?? 0) > (y?.broker.SequenceNumber ?? 0));
  assert.equal(x?.broker.EnqueuedTimeUtc, instant({ seconds: 10 }));
});

test('a send is answered with 504 if only the scheduled part of its batch was stored', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, subscription('too'));
  // The scheduled messages are stored in one transaction, the others are copied in a second one.
  let transactions = 0;
  const client = hookedClient(({ command }) => {
    if (command === 'TransactWriteItemsCommand' && ++transactions > 1) throw throttled();
  });
  t.after(() => client.destroy());
  const sender = await startBroker(t, { client, beside: broker });
  const answer = await sender.sendBatch('t', [messageOf('later', IN_10), { Body: 'now' }]);
  assert.equal(answer.status, 504, answer.text);
  assert.deepEqual(await counts(broker, 't'), { Scheduled: 1, Subscription: 2 });
});

test('each subscription gets a scheduled batch in the order of its times', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, subscription('too'));
  const batch = [messageOf('20', IN_20), { Body: 'now' }, messageOf('10', IN_10)];
  expectStatus(await broker.sendBatch('t', batch), 201);
  assert.deepEqual(await drainBodies(broker, S), ['now']);
  broker.clock.advance({ seconds: 20 });
  assert.deepEqual(await drainBodies(broker, S), ['10', '20']);
  const all = await drain(broker, subscription('too'));
  assert.deepEqual(
    all.map(({ body }) => body),
    ['now', '10', '20'],
  );
  assert.equal(new Set(numbers(all)).size, 3);
});

test('the sweep copies a due message to the subscriptions without any receiver', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('t', 'x', IN_10), 201);
  broker.clock.advance({ seconds: 10 });
  await broker.sweep();
  assert.deepEqual(await counts(broker, S), { Message: 1, Active: 1 });
  assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
});

test('a waiting receive on a subscription gets a message that comes due at the topic', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('t', 'x', IN_10), 201);
  const waiting = broker.peekLock(S, 60);
  broker.clock.advance({ seconds: 10 });
  assert.equal((await waiting)?.body, 'x');
});

test('the rules that exist when a message comes due select its subscriptions', async (t) => {
  const broker = await start(t);
  const red = { Body: 'red', UserProperties: { color: 'red' }, BrokerProperties: IN_10 };
  const blue = { Body: 'blue', UserProperties: { color: 'blue' }, BrokerProperties: IN_10 };
  expectStatus(await broker.sendBatch('t', [red, blue]), 201);
  await removeRule(broker, S, '$Default');
  await createRule(broker, S, 'blues', { filter: sql("color = 'blue'") });
  await createRuledSubscription(broker, subscription('late'), {
    reds: { filter: sql("color = 'red'") },
  });
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(await drainBodies(broker, S), ['blue']);
  assert.deepEqual(await drainBodies(broker, subscription('late')), ['red']);
});

test('a scheduled message that matches no subscription when it comes due is deleted', async (t) => {
  const broker = await start(t);
  await removeRule(broker, S, '$Default');
  expectStatus(await broker.send('t', 'x', IN_10), 201);
  broker.clock.advance({ seconds: 10 });
  await broker.sweep();
  assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
  assert.deepEqual(await counts(broker, S), {});
});

test('#61 a message scheduled at a topic is cancelled there, and reaches no subscription', async (t) => {
  const broker = await start(t);
  const batch = [messageOf('a', IN_10), messageOf('b', IN_10)];
  const [a = 0] = await broker.schedule('t', batch);
  expectStatus(await broker.cancelScheduled('t', [a]), 200);
  assert.deepEqual(await counts(broker, 't'), { Scheduled: 1, Subscription: 1 });
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(await drainBodies(broker, S), ['b']);
});

test('#62 cancelling at a topic fails for an unknown, a cancelled and a due message', async (t) => {
  const broker = await start(t);
  const [a = 0, b = 0] = await broker.schedule('t', [messageOf('a', IN_10), messageOf('b', IN_20)]);
  for (const number of [99, b]) {
    if (number === b) expectStatus(await broker.cancelScheduled('t', [b]), 200);
    const refused = await broker.cancelScheduled('t', [number]);
    assert.equal(refused.headers.get('x-dynabus-error'), 'MessageNotFound');
  }
  broker.clock.advance({ seconds: 10 });
  const late = await broker.cancelScheduled('t', [a]);
  assert.equal(late.headers.get('x-dynabus-error'), 'MessageNotFound');
  assert.deepEqual(await drainBodies(broker, S), ['a']);
});

test('cancelling at a subscription is refused, since nothing is scheduled there', async (t) => {
  const broker = await start(t);
  const [number = 0] = await broker.schedule('t', [messageOf('a', IN_10)]);
  const refused = await broker.cancelScheduled(S, [number]);
  assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
  assert.deepEqual(await counts(broker, 't'), { Scheduled: 1, Subscription: 1 });
});

test('#55 #A9 the time to live of a scheduled message begins when it is due', async (t) => {
  const broker = await start(t);
  for (const body of ['a', 'b']) {
    expectStatus(await broker.send('t', body, { ...IN_10, TimeToLive: 60 }), 201);
  }
  broker.clock.advance({ seconds: 69 });
  const [a] = await broker.peekLockMany(S, 1);
  assert.deepEqual([a?.body, a?.broker['ExpiresAtUtc']], ['a', instant({ seconds: 70 })]);
  broker.clock.advance({ seconds: 1 });
  assert.equal(await broker.peekLock(S), undefined);
});

for (const seconds of [-1, 0]) {
  test(`#65 a message scheduled ${seconds} s from now reaches the subscriptions at once`, async (t) => {
    const broker = await start(t);
    const at = { ScheduledEnqueueTimeUtc: instant({ seconds }) };
    expectStatus(await broker.send('t', 'x', at), 201);
    assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
    assert.deepEqual(await counts(broker, S), { Message: 1, Active: 1 });
    assert.deepEqual(await drainBodies(broker, S), ['x']);
  });
}

test('each subscription gets the complete large body of a scheduled message', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, subscription('too'));
  const body = Array.from({ length: 20_000 }, (_, i) => `${i * 7919}`)
    .join(' ')
    .slice(0, 100_000);
  expectStatus(await broker.send('t', body, IN_10), 201);
  broker.clock.advance({ seconds: 10 });
  for (const path of [S, subscription('too')]) {
    assert.deepEqual(await drainBodies(broker, path), [body]);
  }
});

test('a batch that is refused because no subscription matches stores nothing, not even its scheduled messages', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', { FilteringMessagesBeforePublishing: 'true' });
  await createRuledSubscription(broker, S, { red: { filter: sql("color = 'red'") } });
  const refused = await broker.sendBatch('t', [messageOf('later', IN_10), { Body: 'grey' }]);
  assert.equal(refused.headers.get('x-dynabus-error'), 'NoMatchingSubscription');
  assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
  const red = { Body: 'red', UserProperties: { color: 'red' } };
  expectStatus(await broker.sendBatch('t', [messageOf('later', IN_10), red]), 201);
  assert.deepEqual(await counts(broker, 't'), { Scheduled: 1, Subscription: 1 });
});
