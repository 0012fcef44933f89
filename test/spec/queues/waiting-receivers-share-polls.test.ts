import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** In seconds, and much longer than a test takes: a receive that returns a message was woken. */
const LONG = 60;
const RECEIVERS = 30;

async function startQueue(t: TestContext, settings = {}): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S', ...settings }), 201);
  return broker;
}

/** Gives pending receives the time to find nothing and start to wait. */
async function untilOthersWait(broker: TestBroker): Promise<void> {
  for (let round = 0; round < 3; round++) assert.equal(await broker.peekLock('q'), undefined);
}

test('at most two of 30 waiting receives look for a new message', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () => broker.receiveAndDelete('q', LONG));
  await untilOthersWait(broker);
  const { requests } = await broker.units(async () => {
    expectStatus(await broker.send('q', 'x'), 201);
    await Promise.race(waiting);
  });
  // The send, the claim and its deletion; the look of the next receive, which finds nothing; on a slow machine also the
  // poll of a half second that falls in between.
  assert.ok(requests <= 9, `${requests} requests`);
  expectStatus(await broker.sendBatch('q', Array(RECEIVERS - 1).fill({ Body: 'x' })), 201);
  assert.equal((await Promise.all(waiting)).filter((message) => message?.body === 'x').length, 30);
});

test('30 waiting receives together poll DynamoDB as often as one', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () => broker.receiveAndDelete('q', 3));
  await untilOthersWait(broker);
  const { requests } = await broker.units(() => Promise.all(waiting));
  // Two requests a second by the receive whose turn it is, and a last look by each before it ends.
  assert.ok(requests <= 10 + 3 * RECEIVERS, `${requests} requests`);
});

test('all waiting receives answer 410 when their queue is deleted', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () =>
    broker.request('POST', `q/messages/head?timeout=${LONG}`),
  );
  await untilOthersWait(broker);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 410);
});

test('each of eight waiting accepts of the next session gets one', async (t) => {
  const broker = await startQueue(t, { RequiresSession: true });
  const accept = () => broker.request('POST', `q/sessions/$accept?timeout=${LONG}`);
  const waiting = Array.from({ length: 8 }, accept);
  const sent = waiting.map((_, i) => ({ Body: 'x', BrokerProperties: { SessionId: `s${i}` } }));
  expectStatus(await broker.sendBatch('q', sent), 201);
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.deepEqual(statuses, Array(8).fill(201));
});
