import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies } from './queue.ts';

async function startQueue(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  return broker;
}

const batchOf = (count: number) => Array.from({ length: count }, (_, i) => ({ Body: `${i}` }));

test('#1 #B5 a receive-and-delete removes the message and returns no lock token', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'once'), 201);
  const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
  assert.equal(answer.status, 200);
  assert.equal(answer.text, 'once');
  assert.equal(answer.headers.get('location'), null);
  const shown = JSON.parse(answer.headers.get('brokerproperties') ?? '');
  assert.equal(shown.LockToken, undefined);
  assert.equal(shown.LockedUntilUtc, undefined);
  assert.equal(shown.DeliveryCount, 1);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#2 a message that was received and deleted is never delivered again', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'lost with its receiver'), 201);
  await broker.receiveAndDelete('q');
  broker.clock.advance({ days: 400 });
  await broker.sweep();
  assert.equal(await broker.receiveAndDelete('q'), undefined);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#15 a receive-and-delete from an empty queue answers 204 at once', async (t) => {
  const broker = await startQueue(t);
  const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
  assert.deepEqual([answer.status, answer.text], [204, '']);
});

test('#18 a message that was received and deleted cannot be settled', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', batchOf(2)), 201);
  const locked = await broker.peekLock('q');
  assert.ok(locked);
  assert.equal(await broker.abandon(locked), 200);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 2)), ['0', '1']);
  assert.equal(await broker.complete(locked), 404);
});

test('a receive-and-delete returns up to maxMessages messages in order', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', batchOf(150)), 201);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 1)), ['0']);
  const some = await broker.receiveAndDeleteMany('q', 99);
  const rest = await broker.receiveAndDeleteMany('q', 1000);
  assert.deepEqual(
    ['0', ...bodies(some), ...bodies(rest)],
    batchOf(150).map(({ Body }) => Body),
  );
  assert.equal(some.length, 99);
  assert.deepEqual(await broker.receiveAndDeleteMany('q', 1000), []);
});

test('a receive-and-delete skips a locked message until its lock ends', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', batchOf(3)), 201);
  await broker.peekLock('q');
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['1', '2']);
  broker.clock.advance({ minutes: 1 });
  const last = await broker.receiveAndDelete('q');
  assert.deepEqual([last?.body, last?.broker.DeliveryCount], ['0', 2]);
});

test('each of 600 messages is received and deleted by exactly one of many receivers', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', batchOf(600)), 201);
  const taken: string[] = [];
  const receive = async (size: number) => {
    for (;;) {
      const messages = await broker.receiveAndDeleteMany('q', size);
      taken.push(...bodies(messages));
      if (messages.length === 0) return;
    }
  };
  await Promise.all([1, 3, 7, 20, 1, 50, 2, 9].map(receive));
  // A receive that loses every race may return nothing although messages are left: this one gets them.
  await receive(1000);
  assert.deepEqual(
    taken.map(Number).sort((a, b) => a - b),
    batchOf(600).map((_, i) => i),
  );
});

test('each of 300 messages is locked by exactly one of many receivers', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', batchOf(300)), 201);
  const locked: Received[] = [];
  const receive = async (size: number) => {
    for (;;) {
      const messages = await broker.peekLockMany('q', size);
      locked.push(...messages);
      if (messages.length === 0) return;
    }
  };
  await Promise.all([1, 3, 7, 20, 1, 50].map(receive));
  await receive(1000);
  assert.equal(locked.length, 300);
  assert.equal(new Set(bodies(locked)).size, 300);
  assert.equal(new Set(locked.map((message) => message.broker.LockToken)).size, 300);
  assert.ok(locked.every((message) => message.broker.DeliveryCount === 1));
});
