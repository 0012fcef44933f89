import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import type { BatchMessage, TestBroker } from '../../support/test-broker.ts';
import { bodies, instant, startQueue } from './queue.ts';

const COUNT = 4000;
const PER_CALL = 1000;

const named = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);

const due = (seconds: number, Body: string): BatchMessage => ({
  Body,
  BrokerProperties: { ScheduledEnqueueTimeUtc: instant({ seconds }) },
});

async function scheduleAll(broker: TestBroker, messages: readonly BatchMessage[]): Promise<void> {
  for (let i = 0; i < messages.length; i += PER_CALL) {
    await broker.schedule('q', messages.slice(i, i + PER_CALL));
  }
}

async function receiveAll(broker: TestBroker): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const received = await broker.receiveAndDeleteMany('q', 1000);
    if (received.length === 0) return all;
    all.push(...bodies(received));
  }
}

test(`${COUNT} messages due in the same second are activated in bulk, for at most 25 write units per 100 messages`, async (t) => {
  const broker = await startQueue(t);
  await scheduleAll(
    broker,
    named(COUNT).map((body) => due(60, body)),
  );
  assert.equal((await broker.runtimeProperties('q')).scheduled, COUNT);
  broker.clock.advance({ minutes: 1 });
  const first = await broker.units(() => broker.peek('q', { max: 1 }));
  t.diagnostic(`${first.write} write units, ${first.requests} requests`);
  // Each block of 24 messages costs two transactional writes: its deletion here, its creation there.
  assert.ok(first.write <= COUNT / 4, `${first.write} write units`);
  assert.ok(first.requests <= COUNT / 40, `${first.requests} requests`);
  const { active, scheduled } = await broker.runtimeProperties('q');
  assert.deepEqual([active, scheduled], [COUNT, 0]);
  const again = await broker.units(() => broker.peek('q', { max: 1 }));
  assert.equal(again.write, 0);
});

const SINGLES = isMore()
  ? { count: 300, requests: 60, write: 30 }
  : { count: 100, requests: 35, write: 10 };

test(`${SINGLES.count} messages that were scheduled one by one for the same second are activated into shared blocks`, async (t) => {
  const broker = await startQueue(t);
  const messages = named(SINGLES.count).map((body) => due(60, body));
  for (let i = 0; i < messages.length; i += 50) {
    const sends = messages.slice(i, i + 50).map((message) => broker.schedule('q', [message]));
    await Promise.all(sends);
  }
  broker.clock.advance({ minutes: 1 });
  const { requests } = await broker.units(() => broker.peek('q', { max: 1 }));
  assert.ok(requests <= SINGLES.requests, `${requests} requests`);
  const { write } = await broker.units(async () => {
    const received = await broker.receiveAndDeleteMany('q', 1000);
    assert.deepEqual(
      bodies(received)
        .map(Number)
        .sort((a, b) => a - b),
      named(SINGLES.count).map(Number),
    );
  });
  assert.ok(write <= SINGLES.write, `${write} write units to receive them`);
});

for (const count of [20, 100, 500, 1000]) {
  test(`a batch of ${count} messages scheduled for the same instant is delivered in the order of the batch`, async (t) => {
    const broker = await startQueue(t);
    await scheduleAll(
      broker,
      named(count).map((body) => due(60, body)),
    );
    broker.clock.advance({ minutes: 1 });
    assert.deepEqual(await receiveAll(broker), named(count));
  });
}

test('2,000 messages due at different seconds are all delivered, in order of time', async (t) => {
  const broker = await startQueue(t);
  const order = named(2000);
  const messages = order.map((body, i) => due(60 + Math.floor(i / 100), body));
  // The number of different times in one batch is limited.
  for (let i = 0; i < messages.length; i += 500) {
    await broker.schedule('q', messages.slice(i, i + 500));
  }
  broker.clock.advance({ minutes: 5 });
  assert.deepEqual(await receiveAll(broker), order);
});

test('receives of two processes at the same time activate each message once', async (t) => {
  const broker = await startQueue(t);
  const other = await startBroker(t, { beside: broker });
  await scheduleAll(
    broker,
    named(2000).map((body) => due(60, body)),
  );
  broker.clock.advance({ minutes: 1 });
  const all = (await Promise.all([broker, other, broker, other].map(receiveAll))).flat();
  all.push(...(await receiveAll(broker)));
  assert.deepEqual(
    all.map(Number).sort((a, b) => a - b),
    named(2000).map(Number),
  );
});

test('each message is either cancelled or delivered when a cancellation races its activation', async (t) => {
  const broker = await startQueue(t);
  const scheduled = await broker.schedule(
    'q',
    named(100).map((body) => due(60, body)),
  );
  broker.clock.advance({ seconds: 60, ms: -1 });
  const cancels = scheduled.map(
    async (number) => (await broker.cancelScheduled('q', [number])).status,
  );
  broker.clock.advance({ ms: 1 });
  const received = await receiveAll(broker);
  const cancelled = (await Promise.all(cancels)).filter((status) => status === 200).length;
  received.push(...(await receiveAll(broker)));
  assert.equal(cancelled + received.length, 100);
  assert.equal(new Set(received).size, received.length);
});
