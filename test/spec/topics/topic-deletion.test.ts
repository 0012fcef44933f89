import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRule,
  createSubscription,
  createTopic,
  drainBodies,
  NOTHING,
  subscription,
} from '../../support/topic-entities.ts';
import { TopicItems } from '../../support/topic-items.ts';
import { instant, lockAndSettle } from '../queues/queue.ts';

const A = subscription('a');
const B = subscription('b');

/** A topic with two subscriptions, the first with active, deferred and dead-lettered messages. */
async function start(t: TestContext): Promise<{ broker: TestBroker; items: TopicItems }> {
  const broker = await startBroker(t);
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await createTopic(broker);
  for (const path of [A, B]) await createSubscription(broker, path);
  await createRule(broker, A, 'never', { filter: NOTHING });
  await fill(broker);
  return { broker, items };
}

async function fill(broker: TestBroker): Promise<void> {
  const large = randomBytes(40_000).toString('base64');
  const batch = ['small', large, 'dead', 'deferred'].map((Body) => ({ Body }));
  expectStatus(await broker.sendBatch('t', batch), 201);
  for (let i = 0; i < 2; i++) await lockAndSettle(broker, 'deadLetter', {}, A);
  await lockAndSettle(broker, 'defer', {}, A);
  expectStatus(
    await broker.send('t', large, { ScheduledEnqueueTimeUtc: instant({ seconds: 86_400 }) }),
    201,
  );
}

/** Sweeps five times within an hour: a later sweep checks again what an earlier one deleted. */
async function sweepForAnHour(broker: TestBroker): Promise<void> {
  for (let i = 0; i < 5; i++) {
    broker.clock.advance({ minutes: 12 });
    await broker.sweep();
  }
}

test('#160 the subscriptions and rules of a deleted topic no longer exist at once', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.request('DELETE', 't'), 200);
  for (const path of ['t', A, `${A}/rules/never`, `${A}/rules`]) {
    expectStatus(await broker.request('GET', path), 404);
  }
  for (const path of [A, B, `${A}/$deadletterqueue`]) {
    const answer = await broker.request('DELETE', `${path}/messages/head?timeout=0`);
    assert.equal(answer.status, 410, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), 'MessagingEntityNotFound');
  }
  assert.equal((await broker.send('t', 'x')).status, 410);
});

test('#160 the sweep deletes every item of a deleted topic', async (t) => {
  const { broker, items } = await start(t);
  const ids = await Promise.all(['t', A, B].map((path) => items.idOf(path)));
  for (const id of ids) assert.ok((await items.ofEntity(id)).all > 1);
  expectStatus(await broker.request('DELETE', 't'), 200);
  await sweepForAnHour(broker);
  for (const id of ids) assert.equal((await items.ofEntity(id)).all, 0);
  broker.clock.advance({ days: 2 });
  await broker.sweep();
  assert.equal(await items.ofNamespace(), 0);
});

test('a new topic has no subscriptions, rules or messages of a deleted topic of the same name', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.request('DELETE', 't'), 200);
  await createTopic(broker);
  assert.deepEqual(await counts(broker, 't'), {});
  const feed = await broker.request('GET', 't/subscriptions');
  assert.doesNotMatch(feed.text, /<entry/);
  expectStatus(await broker.request('GET', A), 404);
  expectStatus(await broker.send('t', 'no subscription'), 201);
  await createSubscription(broker, A);
  expectStatus(await broker.request('GET', `${A}/rules/never`), 404);
  expectStatus(await broker.send('t', 'new'), 201);
  await sweepForAnHour(broker);
  broker.clock.advance({ days: 2 });
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, A), ['new']);
  assert.deepEqual(await counts(broker, A), {});
});

test('a new subscription has no messages or rules of a deleted one of the same name', async (t) => {
  const { broker } = await start(t);
  expectStatus(await broker.request('DELETE', A), 200);
  await createSubscription(broker, A);
  assert.deepEqual(await counts(broker, A), {});
  expectStatus(await broker.request('GET', `${A}/rules/never`), 404);
  expectStatus(await broker.send('t', 'new'), 201);
  await sweepForAnHour(broker);
  assert.deepEqual(await drainBodies(broker, A), ['new']);
  assert.equal((await drainBodies(broker, B)).length, 5);
});

test('the sweep deletes every item of a deleted subscription and of its rules', async (t) => {
  const { broker, items } = await start(t);
  const id = await items.idOf(A);
  const before = await items.ofNamespace();
  expectStatus(await broker.request('DELETE', A), 200);
  await sweepForAnHour(broker);
  assert.equal((await items.ofEntity(id)).all, 0);
  // The subscription, `$Default` and `never`.
  assert.equal(before - (await items.ofNamespace()), 3);
});

test('a deleted subscription gets no more messages, and the others do', async (t) => {
  const { broker } = await start(t);
  await drainBodies(broker, B);
  expectStatus(await broker.request('DELETE', A), 200);
  expectStatus(await broker.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(broker, B), ['after']);
  assert.equal((await broker.request('DELETE', `${A}/messages/head?timeout=0`)).status, 410);
});

test('the sweep deletes every item of a topic with many subscriptions', async (t) => {
  const broker = await startBroker(t);
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await createTopic(broker);
  for (let i = 0; i < 12; i++) await createSubscription(broker, subscription(`s${i}`));
  expectStatus(await broker.send('t', randomBytes(20_000)), 201);
  const id = await items.idOf(subscription('s11'));
  expectStatus(await broker.request('DELETE', 't'), 200);
  await sweepForAnHour(broker);
  assert.equal((await items.ofEntity(id)).all, 0);
  assert.equal(await items.ofNamespace(), 0);
});

test('#142 an idle topic is deleted with its subscriptions, unless clients receive from one of them', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', { AutoDeleteOnIdle: 'PT5M' });
  await createSubscription(broker, A);
  for (let i = 0; i < 5; i++) {
    broker.clock.advance({ minutes: 4 });
    await broker.peekLock(A);
    await broker.sweep();
  }
  expectStatus(await broker.request('GET', 't'), 200);
  broker.clock.advance({ minutes: 10 });
  await broker.sweep();
  for (const path of ['t', A]) expectStatus(await broker.request('GET', path), 404);
});
