import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createSubscription,
  createTopic,
  drain,
  drainBodies,
  sizeOf,
  sql,
  subscription,
  updateSubscription,
  updateTopic,
} from '../../support/topic-entities.ts';
import { bodies, numbers } from '../queues/queue.ts';

const A = subscription('a');
const B = subscription('b');

/** A topic `t` with the subscriptions `a` and `b`, which get every message. */
async function startTopic(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker, 't', settings);
  for (const path of [A, B]) await createSubscription(broker, path);
  return broker;
}

async function sendEach(broker: TestBroker, ...sent: readonly string[]): Promise<void> {
  for (const body of sent) expectStatus(await broker.send('t', body), 201);
}

test('each subscription gets its own copy of each message, in order', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, '1', '2');
  expectStatus(await broker.sendBatch('t', [{ Body: '3' }, { Body: '4' }]), 201);
  assert.deepEqual(await drainBodies(broker, A), ['1', '2', '3', '4']);
  assert.deepEqual(bodies(await broker.peek(B)), ['1', '2', '3', '4']);
  assert.deepEqual(await drainBodies(broker, B), ['1', '2', '3', '4']);
});

test('a send to a topic is answered with 201 and an empty body', async (t) => {
  const broker = await startTopic(t);
  const one = await broker.send('t', 'x');
  const batch = await broker.sendBatch('t', [{ Body: 'x' }]);
  assert.deepEqual([one.status, one.text, batch.status, batch.text], [201, '', 201, '']);
});

test('each copy has all system and user properties of the message as sent', async (t) => {
  const broker = await startTopic(t);
  const system = {
    MessageId: 'm',
    CorrelationId: 'c',
    Label: 'l',
    ReplyTo: 'r',
    To: 'to',
    SessionId: 's',
    ReplyToSessionId: 'rs',
    PartitionKey: 's',
    ContentType: 'text/plain',
  };
  const properties = { text: 'grün', whole: 7, real: 1.5, yes: true, none: null };
  const sent = { Body: 'x', BrokerProperties: system, UserProperties: properties };
  expectStatus(await broker.sendBatch('t', [sent]), 201);
  for (const path of [A, B]) {
    const [copy] = await drain(broker, path);
    assert.ok(copy);
    const { broker: shown } = copy;
    assert.deepEqual(Object.fromEntries(Object.keys(system).map((k) => [k, shown[k]])), system);
    assert.deepEqual(copy.properties, properties);
    assert.deepEqual([shown.DeliveryCount, shown.State], [1, 'Active']);
  }
});

test('a message without a MessageId gets the same new one in all subscriptions', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, 'x');
  const [a] = await drain(broker, A);
  const [b] = await drain(broker, B);
  assert.match(a?.broker.MessageId ?? '', /^[0-9a-f]{32}$/);
  assert.equal(a?.broker.MessageId, b?.broker.MessageId);
});

test('sequence numbers are assigned by the topic: from 1, without gaps, the same in each subscription', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, 'one');
  expectStatus(await broker.sendBatch('t', [{ Body: 'two' }, { Body: 'three' }]), 201);
  for (const path of [A, B]) assert.deepEqual(numbers(await drain(broker, path)), [1, 2, 3]);
});

test('a new subscription gets only messages sent after its creation', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, 'before');
  await createSubscription(broker, subscription('late'));
  await sendEach(broker, 'after');
  assert.deepEqual(await drainBodies(broker, subscription('late')), ['after']);
});

test('locks and delivery counts of one subscription do not affect another', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, 'x');
  const locked = await broker.peekLock(A);
  assert.ok(locked);
  assert.equal((await broker.peekLock(B))?.broker.DeliveryCount, 1);
  assert.equal(await broker.abandon(locked), 200);
  assert.equal((await broker.peekLock(A))?.broker.DeliveryCount, 2);
  assert.deepEqual((await broker.peek(B))[0]?.broker.DeliveryCount, 0);
});

test('a waiting receive on a subscription gets a message that is sent to the topic', async (t) => {
  const broker = await startTopic(t);
  const waiting = broker.peekLock(B, 60);
  await sendEach(broker, 'x');
  assert.equal((await waiting)?.body, 'x');
});

test('#104 a message that matches no subscription is accepted and not stored', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await sendEach(broker, 'no subscription');
  await createRuledSubscription(broker, A, { red: { filter: sql("color = 'red'") } });
  await sendEach(broker, 'no match');
  expectStatus(await broker.sendBatch('t', [{ Body: 'no match' }]), 201);
  assert.deepEqual(await drainBodies(broker, A), []);
  assert.deepEqual(await counts(broker, 't'), { Subscription: 1 });
  assert.equal(await sizeOf(broker, 't'), 0);
});

test('#104 a topic that filters before publishing refuses a send that matches no subscription', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', { FilteringMessagesBeforePublishing: 'true' });
  await createRuledSubscription(broker, A, { red: { filter: sql("color = 'red'") } });
  const refused = await broker.send('t', 'x');
  assert.ok(refused.status >= 400 && refused.status < 500, `${refused.status}`);
  assert.equal(refused.headers.get('x-dynabus-error'), 'NoMatchingSubscription');
  const red = { Body: 'red', UserProperties: { color: 'red' } };
  expectStatus(await broker.sendBatch('t', [{ Body: 'grey' }, red]), 201);
  assert.deepEqual(await drainBodies(broker, A), ['red']);
});

test('a send to a subscription or to its dead-letter queue is refused', async (t) => {
  const broker = await startTopic(t);
  const refused = await broker.send(A, 'x');
  assert.equal(refused.headers.get('x-dynabus-error'), 'InvalidOperation');
  assert.match(refused.text, /Cannot create a message sender for a subscription/);
  for (const path of [`${A}/$deadletterqueue`, `${A}/$transfer/$deadletterqueue`]) {
    const answer = await broker.send(path, 'x');
    assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
  }
  assert.deepEqual(await drainBodies(broker, A), []);
});

for (const [what, method, path] of [
  ['receive', 'POST', 't/messages/head?timeout=0'],
  ['receive and delete', 'DELETE', 't/messages/head?timeout=0'],
  ['receive many', 'POST', 't/messages/head?timeout=0&maxMessages=10'],
  ['peek', 'GET', 't/messages'],
] as const) {
  test(`a topic refuses the operation ${what}, since its subscriptions hold the messages`, async (t) => {
    const broker = await startTopic(t);
    await sendEach(broker, 'x');
    const answer = await broker.request(method, path);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
    assert.match(answer.text, /received from its subscriptions/);
    assert.deepEqual(await drainBodies(broker, A), ['x']);
  });
}

test('#34 a topic itself has no dead-letter queue', async (t) => {
  const broker = await startTopic(t);
  for (const path of ['t/$deadletterqueue', 't/$transfer/$deadletterqueue']) {
    const answer = await broker.request('DELETE', `${path}/messages/head?timeout=0`);
    assert.ok([400, 404, 410].includes(answer.status), `${answer.status}`);
  }
});

for (const status of ['Disabled', 'SendDisabled']) {
  test(`#154 #156 a topic that is ${status} refuses sends, and its subscriptions still deliver`, async (t) => {
    const broker = await startTopic(t);
    await sendEach(broker, 'stored');
    await updateTopic(broker, 't', { Status: status });
    const refused = await broker.send('t', 'refused');
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get('x-dynabus-error'), 'MessagingEntityDisabled');
    const locked = await broker.peekLock(A);
    assert.equal(locked?.body, 'stored');
    assert.equal(locked && (await broker.complete(locked)), 200);
    await updateTopic(broker, 't', { Status: 'Active' });
    await sendEach(broker, 'again');
    assert.deepEqual(await drainBodies(broker, A), ['again']);
    assert.deepEqual(await drainBodies(broker, B), ['stored', 'again']);
  });
}

for (const status of ['Disabled', 'ReceiveDisabled']) {
  test(`#154 a subscription that is ${status} still gets its copies, and delivers them when it is active again`, async (t) => {
    const broker = await startTopic(t);
    await updateSubscription(broker, A, { Status: status });
    await sendEach(broker, 'x');
    const refused = await broker.request('POST', `${A}/messages/head?timeout=0`);
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get('x-dynabus-error'), 'MessagingEntityDisabled');
    assert.deepEqual(await drainBodies(broker, B), ['x']);
    await updateSubscription(broker, A, { Status: 'Active' });
    assert.deepEqual(await drainBodies(broker, A), ['x']);
  });
}

test('#155 message counts belong to the subscriptions, and a topic counts its subscriptions only', async (t) => {
  const broker = await startTopic(t);
  await sendEach(broker, 'active', 'active too', 'dead');
  const held = await broker.peekLockMany(A, 3);
  const dead = held[2];
  assert.ok(dead);
  const lockToken = dead.broker.LockToken;
  const [outcome] = await broker.settle(A, [{ lockToken, outcome: 'deadLetter' }]);
  assert.equal(outcome?.settled, true);
  assert.deepEqual(await counts(broker, A), { Message: 3, Active: 2, DeadLetter: 1 });
  assert.deepEqual(await counts(broker, B), { Message: 3, Active: 3 });
  assert.deepEqual(await counts(broker, 't'), { Subscription: 2 });
});

test('the size of a topic is the size of its subscriptions’ messages', async (t) => {
  const broker = await startTopic(t);
  assert.equal(await sizeOf(broker, 't'), 0);
  await sendEach(broker, 'x'.repeat(10_000));
  const full = await sizeOf(broker, 't');
  assert.ok(full >= 10_000, `${full} bytes`);
  await drain(broker, A);
  await drain(broker, B);
  assert.equal(await sizeOf(broker, 't'), 0);
});
