import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** Far longer than any of these tests takes: who gets an answer was woken. */
const LONG = 60;
const RECEIVERS = 30;

async function startQueue(t: TestContext, settings = {}): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S', ...settings }), 201);
  return broker;
}

/** Gives receives that are under way the time to find nothing and to wait. */
async function untilOthersWait(broker: TestBroker): Promise<void> {
  for (let round = 0; round < 3; round++) assert.equal(await broker.peekLock('q'), undefined);
}

test('a message that comes to many who wait is looked for by two of them at most', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () => broker.receiveAndDelete('q', LONG));
  await untilOthersWait(broker);
  const { requests } = await broker.units(async () => {
    expectStatus(await broker.send('q', 'x'), 201);
    await Promise.race(waiting);
  });
  // The send, the claim and what it removes; and the look of the next, which is in vain.
  assert.ok(requests <= 8, `${requests} requests`);
  expectStatus(await broker.sendBatch('q', Array(RECEIVERS - 1).fill({ Body: 'x' })), 201);
  assert.equal((await Promise.all(waiting)).filter((message) => message?.body === 'x').length, 30);
});

test('many who wait ask no more often than one', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () => broker.receiveAndDelete('q', 3));
  await untilOthersWait(broker);
  const { requests } = await broker.units(() => Promise.all(waiting));
  // Two a second by whose turn it is; at its end each looks once more before it goes away.
  assert.ok(requests <= 10 + 3 * RECEIVERS, `${requests} requests`);
});

test('all who wait hear that their queue is deleted', async (t) => {
  const broker = await startQueue(t);
  const waiting = Array.from({ length: RECEIVERS }, () =>
    broker.request('POST', `q/messages/head?timeout=${LONG}`),
  );
  await untilOthersWait(broker);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 410);
});

test('each of many who wait for the next session gets one', async (t) => {
  const broker = await startQueue(t, { RequiresSession: true });
  const accept = () => broker.request('POST', `q/sessions/$accept?timeout=${LONG}`);
  const waiting = Array.from({ length: 8 }, accept);
  const sent = waiting.map((_, i) => ({ Body: 'x', BrokerProperties: { SessionId: `s${i}` } }));
  expectStatus(await broker.sendBatch('q', sent), 201);
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.deepEqual(statuses, Array(8).fill(201));
});
