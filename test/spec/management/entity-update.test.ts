import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  settleOne,
  startQueue,
} from '../queues/queue.ts';

const CHANGES: readonly Record<string, string>[] = [
  {},
  { LockDuration: 'PT10S' },
  { DefaultMessageTimeToLive: 'P1D' },
  { DeadLetteringOnMessageExpiration: 'true' },
  { MaxDeliveryCount: '20' },
  { Status: 'SendDisabled' },
  { UserMetadata: 'a note' },
  { AutoDeleteOnIdle: 'PT1H' },
];

for (const change of CHANGES) {
  const what = JSON.stringify(change);
  test(`#14 #B17 an update of the queue to ${what} ends its locks, and the message can be received again`, async (t) => {
    const broker = await startQueue(t, {}, 'a');
    const held = await lock(broker);
    expectStatus(await broker.updateQueue('q', change), 200);
    for (const outcome of ['complete', 'abandon', 'defer', 'deadLetter'] as const) {
      const [answer] = await broker.settle('q', [settlementOf(held, outcome)]);
      assert.equal(answer?.error?.code, 'MessageLockLost', outcome);
    }
    expectStatus(await broker.renew(held), 404);
    const again = await lock(broker);
    assert.deepEqual([again.body, again.broker.DeliveryCount], ['a', 2]);
    assert.notEqual(again.broker.LockToken, held.broker.LockToken);
    await settleOne(broker, again, 'complete');
  });
}

test('#14 an update ends locks on dead letters and deferred messages as well', async (t) => {
  const broker = await startQueue(t, {}, 'dead', 'deferred');
  await lockAndSettle(broker, 'deadLetter');
  await lockAndSettle(broker, 'defer');
  const dead = await lock(broker, DEAD);
  const [deferred] = await broker.receiveDeferred('q', [2]);
  assert.ok(deferred);
  expectStatus(await broker.updateQueue('q'), 200);
  assert.equal(await broker.complete(dead), 404);
  const [answer] = await broker.settle('q', [settlementOf(deferred, 'complete')]);
  assert.equal(answer?.error?.code, 'MessageLockLost');
  assert.equal((await lock(broker, DEAD)).body, 'dead');
  assert.equal((await broker.receiveDeferred('q', [2]))[0]?.body, 'deferred');
});

test('#14 all locks of a batch end, and all messages are received again in order', async (t) => {
  const broker = await startQueue(t);
  const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
  await sendTogether(broker, sent);
  const held = await broker.peekLockMany('q', 100);
  expectStatus(await broker.updateQueue('q'), 200);
  const outcomes = await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'complete')),
  );
  assert.ok(outcomes.every(({ settled }) => !settled));
  assert.deepEqual(bodies(await broker.peekLockMany('q', 100)), sent);
});

test('#14 a refused update ends no lock', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const held = await lock(broker);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT6M' }), 400);
  expectStatus(await broker.updateQueue('q', { RequiresSession: 'true' }), 400);
  expectStatus(await broker.createQueue('q'), 409);
  assert.equal(await broker.complete(held), 200);
});

test('#14 an update of one queue and a read do not end the locks of other queues', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(await broker.createQueue('other'), 201);
  const held = await lock(broker);
  expectStatus(await broker.updateQueue('other', { MaxDeliveryCount: '3' }), 200);
  expectStatus(await broker.request('GET', 'q'), 200);
  assert.equal(await broker.complete(held), 200);
});

test('an update changes only locks: messages keep their states and sequence numbers', async (t) => {
  const broker = await startQueue(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await sendTogether(broker, ['dead', 'deferred', 'active', messageOf('scheduled', at)]);
  await lockAndSettle(broker, 'deadLetter');
  await lockAndSettle(broker, 'defer');
  const before = [await broker.peek('q'), await broker.peek(DEAD)];
  expectStatus(await broker.updateQueue('q', { MaxDeliveryCount: '20' }), 200);
  assert.deepEqual([await broker.peek('q'), await broker.peek(DEAD)], before);
  broker.clock.advance({ minutes: 1 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['active', 'scheduled']);
});

test('#14 an update by one process ends the locks that another process has given', async (t) => {
  const first = await startQueue(t, {}, 'a');
  const [one, two] = [
    await startBroker(t, { beside: first }),
    await startBroker(t, { beside: first }),
  ];
  const held = await lock(one);
  expectStatus(await two.updateQueue('q', { MaxDeliveryCount: '3' }), 200);
  // The address of a lock has the host of the process that gave it.
  const [answer] = await one.settle('q', [settlementOf(held, 'complete')]);
  assert.equal(answer?.error?.code, 'MessageLockLost');
  const again = await lock(one);
  assert.deepEqual([again.body, again.broker.DeliveryCount], ['a', 2]);
});

test('#154 a disabled queue keeps its messages, and delivers them once it is enabled', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(await broker.updateQueue('q', { Status: 'ReceiveDisabled' }), 200);
  expectStatus(await broker.request('POST', 'q/messages/head?timeout=0'), 403);
  expectStatus(await broker.send('q', 'b'), 201);
  expectStatus(await broker.updateQueue('q', { Status: 'SendDisabled' }), 200);
  expectStatus(await broker.send('q', 'c'), 403);
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'a');
  expectStatus(await broker.updateQueue('q', { Status: 'Disabled' }), 200);
  expectStatus(await broker.send('q', 'c'), 403);
  expectStatus(await broker.request('DELETE', 'q/messages/head?timeout=0'), 403);
  expectStatus(await broker.updateQueue('q'), 200);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 10)), ['b']);
});
