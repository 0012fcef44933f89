import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  DEAD,
  having,
  instant,
  lock,
  lockAndSettle,
  sendTogether,
  settleOne,
  startQueue,
  withBroker,
} from './queue.ts';

const later = { ScheduledEnqueueTimeUtc: instant({ seconds: 3600 }) };

async function countsOf(broker: TestBroker): Promise<readonly number[]> {
  const { active, deadLetter, scheduled, total } = await broker.runtimeProperties('q');
  return [active, deadLetter, scheduled, total];
}

test('an empty queue counts nothing of any kind', async (t) => {
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

test('#155 one active, one dead and one scheduled message are three', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'active');
  await lockAndSettle(broker, 'deadLetter');
  expectStatus(await broker.sendBatch('q', [withBroker('scheduled', later)]), 201);
  assert.deepEqual(await countsOf(broker), [1, 1, 1, 3]);
});

test('#155 the list of queues counts as the single queue does', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'active');
  await lockAndSettle(broker, 'deadLetter');
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.match(text, /<MessageCount>2</);
  assert.match(text, /<\w+:ActiveMessageCount>1</);
  assert.match(text, /<\w+:DeadLetterMessageCount>1</);
});

test('locked, delayed and given back messages are active', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, ['a', 'b', 'c', 'd']);
  const [, delayed, back] = await broker.peekLockMany('q', 4);
  assert.ok(delayed && back);
  await settleOne(broker, delayed, 'abandon', { delaySeconds: 60 });
  await settleOne(broker, back, 'abandon', { properties: { tries: 1 } });
  assert.deepEqual(await countsOf(broker), [4, 0, 0, 4]);
});

test('counts follow each step in the life of messages', async (t) => {
  const broker = await startQueue(t);
  const [scheduled] = await broker.schedule('q', [withBroker('x', later), withBroker('y', later)]);
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

test('a scheduled message whose time has come counts as active, though nobody received since', async (t) => {
  const broker = await startQueue(t);
  await broker.schedule('q', [withBroker('a', later)]);
  broker.clock.advance({ hours: 1, ms: -1 });
  assert.deepEqual(await countsOf(broker), [0, 0, 1, 1]);
  broker.clock.advance({ ms: 1 });
  assert.deepEqual(await countsOf(broker), [1, 0, 0, 1]);
});

test('a message whose last lock ran out counts as a dead letter, though nobody received since', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1', LockDuration: 'PT30S' }, 'a');
  await lock(broker);
  assert.deepEqual(await countsOf(broker), [1, 0, 0, 1]);
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(await countsOf(broker), [0, 1, 0, 1]);
  assert.equal((await lock(broker, DEAD)).body, 'a');
  assert.deepEqual(await countsOf(broker), [0, 1, 0, 1]);
});

test('#44 #A4 an expired message is counted at most as long as no receiver came', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M' }, 'a', 'b');
  broker.clock.advance({ minutes: 1 });
  const { active } = await broker.runtimeProperties('q');
  assert.ok([0, 2].includes(active), `${active}`);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await countsOf(broker), [0, 0, 0, 0]);
});

test('a thousand messages of all kinds are counted exactly', async (t) => {
  const broker = await startQueue(t);
  const named = Array.from({ length: 1000 }, (_, i) => `${i}`);
  await sendTogether(broker, named);
  await sendTogether(
    broker,
    named.slice(0, 300).map((body) => withBroker(body, later)),
  );
  const held = await broker.peekLockMany('q', 500);
  const ways = ['complete', 'deadLetter', 'defer', 'abandon'] as const;
  await broker.settle(
    'q',
    held.map((message, i) => having(message, ways[i % 4] ?? 'complete')),
  );
  assert.deepEqual(await countsOf(broker), [750, 125, 300, 1175]);
});

test('every process counts what all have done', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const other = await startBroker(t, { beside: broker });
  expectStatus(await other.send('q', 'b'), 201);
  await lockAndSettle(other, 'deadLetter');
  assert.deepEqual(await countsOf(broker), [1, 1, 0, 2]);
  assert.deepEqual(await countsOf(other), [1, 1, 0, 2]);
});

test('the size grows with what is sent, dead letters included, and is nothing once all is gone', async (t) => {
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

test('counting five thousand messages costs a bounded number of read units, and nothing written', async (t) => {
  const broker = await startQueue(t);
  const sent = Array.from({ length: 1000 }, (_, i) => `${i}`.repeat(10));
  for (let i = 0; i < 5; i++) await sendTogether(broker, sent);
  const { read, write } = await broker.units(() => broker.runtimeProperties('q'));
  t.diagnostic(`${read} read units`);
  assert.equal(write, 0);
  assert.ok(read <= 5000 / 24, `${read} read units`);
});
