import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  DEAD,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from './queue.ts';

const later = { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) };

async function countsOf(broker: TestBroker): Promise<readonly number[]> {
  const { active, deadLetter, scheduled, total } = await broker.runtimeProperties('q');
  return [active, deadLetter, scheduled, total];
}

test('all counts of an empty queue are zero', async (t) => {
  const broker = await startQueue(t);
  const { accessedAt: _, ...counts } = await broker.runtimeProperties('q');
  assert.deepEqual(counts, {
    total: 0,
    active: 0,
    deadLetter: 0,
    scheduled: 0,
    transfer: 0,
    transferDeadLetter: 0,
    size: 0,
  });
});

test('#155 one active, one dead-lettered and one scheduled message count as three', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'active');
  await lockAndSettle(broker, 'deadLetter');
  expectStatus(await broker.sendBatch('q', [messageOf('scheduled', later)]), 201);
  assert.deepEqual(await countsOf(broker), [1, 1, 1, 3]);
});

test('#155 the list of queues shows the same counts as the single queue', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'active');
  await lockAndSettle(broker, 'deadLetter');
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.match(text, /<MessageCount>2</);
  assert.match(text, /<\w+:ActiveMessageCount>1</);
  assert.match(text, /<\w+:DeadLetterMessageCount>1</);
});

test('locked, delayed and abandoned messages count as active', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, ['a', 'b', 'c', 'd']);
  const [, delayed, back] = await broker.peekLockMany('q', 4);
  assert.ok(delayed && back);
  await settleOne(broker, delayed, 'abandon', { delaySeconds: 60 });
  await settleOne(broker, back, 'abandon', { properties: { tries: 1 } });
  assert.deepEqual(await countsOf(broker), [4, 0, 0, 4]);
});

test('counts change when messages are scheduled, cancelled, sent, settled and received', async (t) => {
  const broker = await startQueue(t);
  const [scheduled] = await broker.schedule('q', [messageOf('x', later), messageOf('y', later)]);
  assert.deepEqual(await countsOf(broker), [0, 0, 2, 2]);
  assert.ok(scheduled);
  expectStatus(await broker.cancelScheduled('q', [scheduled]), 200);
  assert.deepEqual(await countsOf(broker), [0, 0, 1, 1]);
  await sendTogether(broker, ['a', 'b', 'c']);
  assert.deepEqual(await countsOf(broker), [3, 0, 1, 4]);
  await lockAndSettle(broker, 'complete');
  await lockAndSettle(broker, 'deadLetter');
  assert.deepEqual(await countsOf(broker), [1, 1, 1, 3]);
  assert.equal(await broker.complete(await lock(broker, DEAD)), 200);
  assert.ok(await broker.receiveAndDelete('q'));
  assert.deepEqual(await countsOf(broker), [0, 0, 1, 1]);
});

test('a scheduled message that is due counts as active before any receive', async (t) => {
  const broker = await startQueue(t);
  await broker.schedule('q', [messageOf('a', later)]);
  broker.clock.advance({ hours: 1, ms: -1 });
  assert.deepEqual(await countsOf(broker), [0, 0, 1, 1]);
  broker.clock.advance({ ms: 1 });
  assert.deepEqual(await countsOf(broker), [1, 0, 0, 1]);
});

test('a message whose last lock expired counts as a dead letter before any receive', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1', LockDuration: 'PT30S' }, 'a');
  await lock(broker);
  assert.deepEqual(await countsOf(broker), [1, 0, 0, 1]);
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(await countsOf(broker), [0, 1, 0, 1]);
  assert.equal((await lock(broker, DEAD)).body, 'a');
  assert.deepEqual(await countsOf(broker), [0, 1, 0, 1]);
});

test('#44 #A4 an expired message is not counted after the next receive', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M' }, 'a', 'b');
  broker.clock.advance({ minutes: 1 });
  const { active } = await broker.runtimeProperties('q');
  assert.ok([0, 2].includes(active), `${active}`);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await countsOf(broker), [0, 0, 0, 0]);
});

test('1,000 messages in different states are counted exactly', async (t) => {
  const broker = await startQueue(t);
  const named = Array.from({ length: 1000 }, (_, i) => `${i}`);
  await sendTogether(broker, named);
  await sendTogether(
    broker,
    named.slice(0, 300).map((body) => messageOf(body, later)),
  );
  const held = await broker.peekLockMany('q', 500);
  const ways = ['complete', 'deadLetter', 'defer', 'abandon'] as const;
  await broker.settle(
    'q',
    held.map((message, i) => settlementOf(message, ways[i % 4] ?? 'complete')),
  );
  assert.deepEqual(await countsOf(broker), [750, 125, 300, 1175]);
});

test('every process counts the messages of all processes', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const other = await startBroker(t, { beside: broker });
  expectStatus(await other.send('q', 'b'), 201);
  await lockAndSettle(other, 'deadLetter');
  assert.deepEqual(await countsOf(broker), [1, 1, 0, 2]);
  assert.deepEqual(await countsOf(other), [1, 1, 0, 2]);
});

test('the size of a queue includes dead letters, and is zero once all messages are removed', async (t) => {
  const broker = await startQueue(t);
  const sizes: number[] = [];
  const measure = async () => sizes.push((await broker.runtimeProperties('q')).size);
  expectStatus(await broker.send('q', 'x'.repeat(1000)), 201);
  await measure();
  expectStatus(await broker.send('q', 'y'.repeat(50_000)), 201);
  await measure();
  await lockAndSettle(broker, 'deadLetter');
  await measure();
  const [one, both, moved] = sizes;
  assert.ok(one !== undefined && one >= 1000 && one < 2000, `${one}`);
  assert.ok(both !== undefined && both >= 51_000 && both < 53_000, `${both}`);
  assert.ok(moved !== undefined && moved >= both && moved < both + 1000, `${moved}`);
  assert.ok(await broker.receiveAndDelete('q'));
  assert.ok(await broker.receiveAndDelete(DEAD));
  assert.equal((await broker.runtimeProperties('q')).size, 0);
});

test('counting 5,000 messages consumes a bounded number of read units and writes nothing', async (t) => {
  const broker = await startQueue(t);
  const sent = Array.from({ length: 1000 }, (_, i) => `${i}`.repeat(10));
  for (let i = 0; i < 5; i++) await sendTogether(broker, sent);
  const { read, write } = await broker.units(() => broker.runtimeProperties('q'));
  t.diagnostic(`${read} read units`);
  assert.equal(write, 0);
  assert.ok(read <= 5000 / 24, `${read} read units`);
});
