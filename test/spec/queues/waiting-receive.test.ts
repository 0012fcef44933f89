import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { startTries, type Try } from '../../support/tries-client.ts';

/** In seconds, and much longer than a test takes: a receive that returns a message was woken. */
const LONG = 60;

async function startQueue(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S' }), 201);
  return broker;
}

/** Gives pending receives the time to find nothing and start to wait. */
async function untilOthersWait(broker: TestBroker): Promise<void> {
  for (let round = 0; round < 3; round++) assert.equal(await broker.peekLock('q'), undefined);
}

test('#16 a waiting receive returns as soon as a message arrives', async (t) => {
  const broker = await startQueue(t);
  const locked = broker.peekLock('q', LONG);
  await untilOthersWait(broker);
  expectStatus(await broker.send('q', 'at last'), 201);
  assert.equal((await locked)?.body, 'at last');

  const taken = broker.receiveAndDelete('q', LONG);
  await untilOthersWait(broker);
  expectStatus(await broker.sendBatch('q', [{ Body: 'once more' }]), 201);
  assert.equal((await taken)?.body, 'once more');
});

test('#16 a receive without a timeout waits, as the default is 60 seconds', async (t) => {
  const broker = await startQueue(t);
  const receive = broker.request('DELETE', 'q/messages/head');
  await untilOthersWait(broker);
  expectStatus(await broker.send('q', 'x'), 201);
  assert.deepEqual([(await receive).status, (await receive).text], [200, 'x']);
});

test('a waiting receive without a message answers 204 after its timeout', async (t) => {
  const broker = await startQueue(t);
  const startedAt = performance.now();
  const answer = await broker.request('POST', 'q/messages/head?timeout=1');
  const waitedMs = performance.now() - startedAt;
  assert.equal(answer.status, 204);
  assert.ok(waitedMs >= 950 && waitedMs < 10_000, `waited ${waitedMs} ms`);
});

test('a waiting receive of up to 100 messages returns the first that arrive and does not wait for more', async (t) => {
  const broker = await startQueue(t);
  const locked = broker.peekLockMany('q', 100, LONG);
  await untilOthersWait(broker);
  expectStatus(await broker.sendBatch('q', [{ Body: 'a' }, { Body: 'b' }]), 201);
  assert.deepEqual(
    (await locked).map(({ body }) => body),
    ['a', 'b'],
  );
});

test('a waiting receive gets a message that is abandoned', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'x'), 201);
  const first = await broker.peekLock('q');
  assert.ok(first);
  const second = broker.peekLock('q', LONG);
  await untilOthersWait(broker);
  assert.equal(await broker.abandon(first), 200);
  assert.equal((await second)?.broker.DeliveryCount, 2);
});

test('a waiting receive gets a message whose lock expires', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'x'), 201);
  assert.ok(await broker.peekLock('q'));
  const second = broker.peekLock('q', LONG);
  await untilOthersWait(broker);
  broker.clock.advance({ seconds: 30 });
  assert.equal((await second)?.broker.DeliveryCount, 2);
});

test('#14 a waiting receive gets a message whose lock ends by an update of the queue', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'x'), 201);
  assert.ok(await broker.peekLock('q'));
  const second = broker.peekLock('q', LONG);
  await untilOthersWait(broker);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT30S' }), 200);
  assert.equal((await second)?.broker.DeliveryCount, 2);
});

test('each of 12 waiting receives gets one message', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: 12 }, () => broker.receiveAndDelete('q', LONG));
  await untilOthersWait(broker);
  const sent = waiting.map((_, i) => ({ Body: `${i}` }));
  expectStatus(await broker.sendBatch('q', sent), 201);
  const got = (await Promise.all(waiting)).map((message) => message?.body);
  assert.deepEqual(got.sort(), sent.map(({ Body }) => Body).sort());
});

test('a waiting receive answers 410 when its queue is deleted', async (t) => {
  const broker = await startQueue(t);
  const waiting = broker.request('POST', `q/messages/head?timeout=${LONG}`);
  await untilOthersWait(broker);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  const answer = await waiting;
  assert.equal(answer.status, 410);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessagingEntityNotFound');
});

test('a message in one queue does not end a waiting receive on another', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.createQueue('other'), 201);
  const order: string[] = [];
  const waiting = broker.peekLock('q', LONG).then((message) => order.push(`q: ${message?.body}`));
  await untilOthersWait(broker);
  expectStatus(await broker.send('other', 'x'), 201);
  order.push(`other: ${(await broker.peekLock('other', LONG))?.body}`);
  expectStatus(await broker.send('q', 'y'), 201);
  await waiting;
  assert.deepEqual(order, ['other: x', 'q: y']);
});

test('a waiting receive retries while DynamoDB throttles, and a receive without a wait answers 503', async (t) => {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const broker = await startBroker(t, { client: tries.client });
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await broker.send('q', 'm'), 201);
  const throttled = Array<Try>(4).fill('throttled');
  tries.next('QueryCommand', throttled);
  const answer = await broker.request('POST', 'q/messages/head?timeout=0');
  expectStatus(answer, 503);
  assert.equal(answer.headers.get('retry-after'), '1');
  tries.next('QueryCommand', throttled);
  assert.equal((await broker.peekLock('q', LONG))?.body, 'm');
});
