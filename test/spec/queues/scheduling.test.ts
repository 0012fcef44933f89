import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { type BatchMessage, expectStatus } from '../../support/test-broker.ts';
import { bodies, DEAD, instant, lock, numbers, sendTogether, startQueue } from './queue.ts';

const at = (seconds: number, Body: string): BatchMessage => ({
  Body,
  BrokerProperties: { ScheduledEnqueueTimeUtc: instant({ seconds }) },
});

test('#64 a scheduled message is not delivered before its time, and peek shows it as scheduled', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', [at(60, 'a')]), 201);
  broker.clock.advance({ seconds: 60, ms: -1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.receiveAndDelete('q'), undefined);
  const [shown] = await broker.peek('q');
  assert.deepEqual([shown?.body, shown?.broker.State], ['a', 'Scheduled']);
  assert.equal(shown?.broker['ScheduledEnqueueTimeUtc'], instant({ seconds: 60 }));
});

test('#63 #64 a scheduled message is delivered exactly at its instant, with that EnqueuedTimeUtc and a new sequence number', async (t) => {
  const broker = await startQueue(t);
  const [number] = await broker.schedule('q', [at(60, 'a')]);
  expectStatus(await broker.send('q', 'b'), 201);
  assert.deepEqual([number, ...numbers(await broker.receiveAndDeleteMany('q', 10))], [1, 2]);
  broker.clock.advance({ seconds: 60 });
  const [message] = await broker.peekLockMany('q', 10);
  assert.equal(message?.body, 'a');
  const { SequenceNumber, EnqueuedTimeUtc, State, DeliveryCount } = message.broker;
  assert.deepEqual([SequenceNumber, State, DeliveryCount], [3, 'Active', 1]);
  assert.equal(EnqueuedTimeUtc, instant({ seconds: 60 }));
});

test('a send that is throttled after its message is stored answers 504, because its outcome is unknown', async (t) => {
  let isStored = false;
  const client = hookedClient(({ command }) => {
    if (command === 'TransactWriteItemsCommand') isStored = true;
    else if (isStored) throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startQueue(t);
  const sender = await startBroker(t, { client, beside: broker });
  const answer = await sender.sendBatch('q', [at(60, 'a')]);
  assert.equal(answer.status, 504, answer.text);
  assert.equal((await broker.peek('q')).length, 1);
});

test('#65 a message that is scheduled for the past or the current instant is delivered at once', async (t) => {
  const broker = await startQueue(t);
  broker.clock.advance({ minutes: 1 });
  const sent = [at(59, 'past'), at(-86_400, 'long past'), at(60, 'now')];
  expectStatus(await broker.sendBatch('q', sent), 201);
  const received = await broker.receiveAndDeleteMany('q', 10);
  assert.deepEqual(bodies(received), ['past', 'long past', 'now']);
  assert.equal(received[0]?.broker.EnqueuedTimeUtc, instant({ seconds: 60 }));
});

test('#61 a scheduled message is cancelled by the sequence number that the schedule call returned, and is never delivered', async (t) => {
  const broker = await startQueue(t);
  const [a, b, c] = await broker.schedule('q', [at(60, 'a'), at(60, 'b'), at(90, 'c')]);
  assert.ok(a && b && c);
  expectStatus(await broker.cancelScheduled('q', [b]), 200);
  assert.deepEqual(bodies(await broker.peek('q')), ['a', 'c']);
  broker.clock.advance({ days: 1 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['a', 'c']);
  expectStatus(await broker.cancelScheduled('q', [b]), 404);
});

test('a schedule call returns the sequence numbers in the order of its messages, not of their times', async (t) => {
  const broker = await startQueue(t);
  const seconds = [90, -60, 30, 90, 60, 0, 30];
  const scheduled = await broker.schedule(
    'q',
    seconds.map((second, i) => at(second, `${i}`)),
  );
  const shown = await broker.peek('q');
  const bodyOf = new Map(
    shown.map(({ body, broker: { SequenceNumber } }) => [SequenceNumber, body]),
  );
  assert.deepEqual(
    scheduled.map((number) => bodyOf.get(number)),
    seconds.map((_, i) => `${i}`),
  );
  assert.deepEqual([...scheduled].sort(), [1, 2, 3, 4, 5, 6, 7]);
});

test('#61 a message that was sent with a scheduled time is cancelled by the number that peek shows', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.sendBatch('q', [at(60, 'a')]), 201);
  expectStatus(await broker.cancelScheduled('q', numbers(await broker.peek('q'))), 200);
  broker.clock.advance({ days: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('#62 a cancellation with the number of an unknown, active, deferred or activated message answers MessageNotFound', async (t) => {
  const broker = await startQueue(t, {}, 'deferred', 'active');
  const held = await lock(broker);
  await broker.settle('q', [{ lockToken: held.broker.LockToken, outcome: 'defer' }]);
  const [activated] = await broker.schedule('q', [at(60, 'activated')]);
  assert.equal(activated, 3);
  broker.clock.advance({ minutes: 1 });
  for (const number of [0, 1, 2, 3, 4, 99]) {
    const answer = await broker.cancelScheduled('q', [number]);
    assert.equal(answer.status, 404, `${number}`);
    assert.equal(answer.headers.get('x-dynabus-error'), 'MessageNotFound');
  }
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['active', 'activated']);
});

test('a cancellation with several numbers cancels all messages or none', async (t) => {
  const broker = await startQueue(t);
  const [a, b] = await broker.schedule('q', [at(60, 'a'), at(120, 'b')]);
  assert.ok(a && b);
  expectStatus(await broker.cancelScheduled('q', [a, 99, b]), 404);
  assert.deepEqual(bodies(await broker.peek('q')), ['a', 'b']);
  expectStatus(await broker.cancelScheduled('q', [b, a]), 200);
  assert.deepEqual(await broker.peek('q'), []);
});

test('exactly one of two simultaneous cancellations of a message succeeds', async (t) => {
  const broker = await startQueue(t);
  const scheduled = await broker.schedule(
    'q',
    Array.from({ length: 20 }, (_, i) => at(60, `${i}`)),
  );
  for (const number of scheduled) {
    const answers = await Promise.all([
      broker.cancelScheduled('q', [number]),
      broker.cancelScheduled('q', [number]),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404]);
  }
});

test('scheduled messages are delivered in order of their times, and messages of the same time in the order of sending', async (t) => {
  const broker = await startQueue(t);
  await broker.schedule('q', [at(90, 'd'), at(30, 'a')]);
  await broker.schedule('q', [at(60, 'b'), at(60, 'c'), at(120, 'e')]);
  expectStatus(await broker.send('q', 'now'), 201);
  broker.clock.advance({ seconds: 90 });
  const received = await broker.receiveAndDeleteMany('q', 10);
  assert.deepEqual(bodies(received), ['now', 'a', 'b', 'c', 'd']);
  assert.deepEqual(
    received.slice(1).map(({ broker: { EnqueuedTimeUtc } }) => EnqueuedTimeUtc),
    [30, 60, 60, 90].map((seconds) => instant({ seconds })),
  );
});

test('only the due messages of a batch with different times are delivered', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, [at(60, 'later'), 'now', at(30, 'soon'), 'now too']);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['now', 'now too']);
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['soon']);
  broker.clock.advance({ seconds: 30 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['later']);
});

test('a message that is scheduled ten years ahead is delivered at its exact millisecond', async (t) => {
  const broker = await startQueue(t);
  const years = 3652 * 86_400;
  await broker.schedule('q', [at(years, 'a')]);
  for (const step of [{ days: 1000 }, { days: 2652, ms: -1 }]) {
    broker.clock.advance(step);
    await broker.sweep();
    assert.equal(await broker.peekLock('q'), undefined);
  }
  broker.clock.advance({ ms: 1 });
  assert.equal((await lock(broker)).body, 'a');
});

test('a scheduled time may have milliseconds', async (t) => {
  const broker = await startQueue(t);
  const ScheduledEnqueueTimeUtc = '2026-01-01T00:00:01.250Z';
  await broker.schedule('q', [{ Body: 'a', BrokerProperties: { ScheduledEnqueueTimeUtc } }]);
  broker.clock.advance({ ms: 1249 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ ms: 1 });
  assert.equal((await lock(broker)).body, 'a');
});

test('a message that was not received for years after its scheduled time is delivered, or expires by its time to live', async (t) => {
  const broker = await startQueue(t, { DeadLetteringOnMessageExpiration: 'true' });
  const times = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }), TimeToLive: 60 };
  await broker.schedule('q', [at(60, 'kept'), { Body: 'expired', BrokerProperties: times }]);
  broker.clock.advance({ days: 2000 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['kept']);
  assert.deepEqual(await broker.peekLockMany('q', 10), []);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['expired']);
});

test('a waiting receive returns when a scheduled message is due', async (t) => {
  const broker = await startQueue(t);
  await broker.schedule('q', [at(60, 'a')]);
  const waiting = broker.peekLock('q', 60);
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ minutes: 1 });
  assert.equal((await waiting)?.body, 'a');
});

test('a message that one process scheduled is received through another', async (t) => {
  const broker = await startQueue(t);
  const other = await startBroker(t, { beside: broker });
  await broker.schedule('q', [at(60, 'a')]);
  broker.clock.advance({ minutes: 1 });
  assert.equal((await lock(other)).body, 'a');
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a schedule call with a message without a scheduled time schedules no message of the batch', async (t) => {
  const broker = await startQueue(t);
  const answer = await broker.post('q', '$schedule', [at(60, 'a'), { Body: 'b' }]);
  assert.equal(answer.status, 400);
  assert.deepEqual(await broker.peek('q'), []);
});

test('the full walk of the sweep finds a scheduled message that the due-work index does not know', async (t) => {
  const broker = await startQueue(t);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  expectStatus(await broker.sendBatch('q', [at(60, 'a')]), 201);
  // Such a state is left by a request that arrives late, after its sender has crashed.
  await items.forgetDue(await items.idOf('q'));
  for (let i = 0; i < 2; i++) {
    broker.clock.advance({ days: 1 });
    await broker.sweep();
  }
  assert.deepEqual(bodies(await broker.peekLockMany('q', 10)), ['a']);
});

test('a scheduled message in a forwarding queue is forwarded in time despite an outdated due time', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('end'), 201);
  expectStatus(await broker.createQueue('q', { ForwardTo: 'end' }), 201);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  // The full walk over all entities is done.
  await broker.sweep();
  // Such a state is left by a request that arrives after the messages it announced were forwarded.
  await items.expectDue(await items.idOf('q'), broker.clock.now() - 60_000);
  expectStatus(await broker.sendBatch('q', [at(60, 'a')]), 201);
  broker.clock.advance({ minutes: 2 });
  await broker.sweep();
  assert.deepEqual(bodies(await broker.peekLockMany('end', 10)), ['a']);
});
