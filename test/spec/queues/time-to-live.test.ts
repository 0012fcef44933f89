import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies, DEAD, instant, lock, messageOf, sendTogether, startQueue } from './queue.ts';

const LARGEST_TIME_SPAN = 922_337_203_685.477_54;

async function lockOne(broker: TestBroker): Promise<Received> {
  const [message] = await broker.peekLockMany('q', 1);
  assert.ok(message);
  return message;
}

async function peekOne(broker: TestBroker): Promise<Received> {
  const [message] = await broker.peek('q', { max: 1 });
  assert.ok(message);
  return message;
}

const timesOf = ({ broker }: Received) => [broker.TimeToLive, broker['ExpiresAtUtc']];

test('#41 #A1 #A2 a message expires its time to live after it was enqueued', async (t) => {
  const broker = await startQueue(t);
  broker.clock.advance({ minutes: 1 });
  await sendTogether(broker, [
    messageOf('a', { TimeToLive: 10 }),
    messageOf('b', { TimeToLiveTimeSpan: '1.00:00:00' }),
  ]);
  broker.clock.advance({ seconds: 5 });
  const [a, b] = await broker.peekLockMany('q', 2);
  assert.ok(a && b);
  assert.equal(a.broker.EnqueuedTimeUtc, instant({ seconds: 60 }));
  assert.deepEqual(timesOf(a), [10, instant({ seconds: 70 })]);
  assert.deepEqual(timesOf(b), [86_400, instant({ seconds: 60 + 86_400 })]);
});

test('#42 #A5 a message is delivered until the last millisecond of its time to live, and not at its end', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10, ms: -1 });
  assert.equal(await broker.abandon(await lock(broker)), 200);
  broker.clock.advance({ ms: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.receiveAndDelete('q'), undefined);
  assert.deepEqual(await broker.peekLockMany('q', 10), []);
});

test('#42 #A5 a receive-and-delete does not deliver an expired message', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.receiveAndDelete('q'), undefined);
});

test('#A8 a message with a time to live of 1 ms expires before it is received', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 0.001 }), 201);
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
  broker.clock.advance({ ms: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#A1 each message of a batch expires by its own time to live', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, [
    messageOf('a', { TimeToLive: 30 }),
    messageOf('b', { TimeToLive: 10 }),
    'c',
    messageOf('d', { TimeToLive: 20 }),
  ]);
  broker.clock.advance({ seconds: 20 });
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['a', 'c']);
  broker.clock.advance({ minutes: 2 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['c']);
});

test('#43 #A4 peek may show an expired message until the next receive, and not after it', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ days: 1 });
  const shown = await broker.peek('q');
  assert.ok(shown.every(({ body, broker: { State } }) => body === 'a' && State === 'Active'));
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await broker.peek('q'), []);
});

test('#44 #A3 #A4 an expired message may be counted until the next receive, and not after it', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ days: 1 });
  const { active } = await broker.runtimeProperties('q');
  assert.ok(active === 0 || active === 1, `${active} are counted`);
  assert.equal(await broker.peekLock('q'), undefined);
  const { total, size } = await broker.runtimeProperties('q');
  assert.deepEqual([total, size], [0, 0]);
});

test('#50 #A15 #C8 an expired message is dropped by default, not dead-lettered', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
  const description = await broker.request('GET', 'q');
  assert.match(description.text, /<DeadLetteringOnMessageExpiration>false</);
});

test('#51 #A10 a time to live above the default of the queue is silently lowered to it', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M' });
  expectStatus(await broker.send('q', 'a', { TimeToLive: 3600 }), 201);
  assert.deepEqual(timesOf(await peekOne(broker)), [60, instant({ seconds: 60 })]);
  assert.deepEqual(timesOf(await lockOne(broker)), [60, instant({ seconds: 60 })]);
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#52 #A10 a time to live below the default of the queue applies to the message', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1H' });
  expectStatus(await broker.send('q', 'a', { TimeToLive: 60 }), 201);
  expectStatus(await broker.send('q', 'b'), 201);
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['b']);
});

test('#53 #A11 an expiry by the default of the queue is shown on receive, and not on peek', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M' });
  expectStatus(await broker.send('q', 'a'), 201);
  assert.deepEqual(timesOf(await peekOne(broker)), [LARGEST_TIME_SPAN, undefined]);
  assert.deepEqual(timesOf(await lockOne(broker)), [60, instant({ seconds: 60 })]);
});

test('#54 #A12 peek shows the expiry by the TimeToLive of the message', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 90 }), 201);
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(timesOf(await peekOne(broker)), [90, instant({ seconds: 90 })]);
});

test('#55 #A9 the time to live of a scheduled message counts from its scheduled instant', async (t) => {
  const broker = await startQueue(t);
  const ScheduledEnqueueTimeUtc = instant({ seconds: 300 });
  const message = messageOf('a', { ScheduledEnqueueTimeUtc, TimeToLive: 600 });
  await broker.schedule('q', [message]);
  assert.equal((await peekOne(broker)).broker['ExpiresAtUtc'], instant({ seconds: 900 }));
  broker.clock.advance({ minutes: 15, ms: -1 });
  const received = await lockOne(broker);
  assert.equal(received.broker['ExpiresAtUtc'], instant({ seconds: 900 }));
  await broker.settle('q', [{ lockToken: received.broker.LockToken, outcome: 'abandon' }]);
  broker.clock.advance({ ms: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#58 #A13 the default time to live of messages and queues is the largest TimeSpan', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  assert.deepEqual(timesOf(await lockOne(broker)), [LARGEST_TIME_SPAN, undefined]);
  const { text } = await broker.request('GET', 'q');
  assert.match(text, /<DefaultMessageTimeToLive>P10675199DT2H48M5\.4775807S</);
  broker.clock.advance({ days: 25_000 });
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'a');
});

for (const TimeToLive of [0, -1, -0.001]) {
  test(`#59 a time to live of ${TimeToLive} seconds is refused`, async (t) => {
    const broker = await startQueue(t);
    const answer = await broker.send('q', 'a', { TimeToLive });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /must be greater than zero/);
    assert.deepEqual(await broker.peek('q'), []);
  });
}

test('#A10 a lowered default applies to stored messages without a time to live, and not to others', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1H' });
  await sendTogether(broker, [messageOf('own', { TimeToLive: 1800 }), 'relying']);
  expectStatus(await broker.updateQueue('q', { DefaultMessageTimeToLive: 'PT1M' }), 200);
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['own']);
});

test('#A10 a default that is raised before messages expire applies to stored messages', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M' }, 'a');
  expectStatus(await broker.updateQueue('q', { DefaultMessageTimeToLive: 'PT1H' }), 200);
  broker.clock.advance({ minutes: 1 });
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'a');
});

test('an expiry after the year 9999 is shown as the end of that year', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 900_000_000_000 }), 201);
  const expiry = 'Fri, 31 Dec 9999 23:59:59 GMT';
  assert.deepEqual(timesOf(await peekOne(broker)), [900_000_000_000, expiry]);
  assert.deepEqual(timesOf(await lockOne(broker)), [900_000_000_000, expiry]);
});
