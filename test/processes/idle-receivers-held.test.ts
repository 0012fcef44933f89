import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, message } from '../support/composed-process.ts';
import { pathOf, startIdleReceivers } from '../support/idle-receivers.ts';

/** What idle receivers hear late, beyond the bounds of docs/architecture/receiving.md. */

const IDLE_MS = 150_000;
const NEWS_MS = 2600;
/** From 200 ms before a message becomes available by time. */
const DUE_MS = 500;
const QUEUE = { kind: 'queue', lockMs: 30_000 } as const;

test('while a read of headers hangs, a receiver looks for itself', async (t) => {
  let isHanging = false;
  let goOn = () => {};
  const hanging = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hook = async (command: string) => {
    if (isHanging && command === 'BatchGetItemCommand') await hanging;
  };
  const { create, receive, other } = await startIdleReceivers(t, { hook });
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  isHanging = true;
  await waiting.idle(2_500);
  await other.broker.send(pathOf('q'), [message('sent')]);
  const found = await waiting.within(5_000 + NEWS_MS);
  goOn();
  assert.equal(found, 'sent');
});

test('a receiver of a session hears within about two seconds that its lock has ended', async (t) => {
  const { create, receive, waiting: process } = await startIdleReceivers(t);
  await create('q', { kind: 'queue', lockMs: 160_000, requiresSession: true });
  const session = await process.broker.acceptSession(pathOf('q'), { sessionId: 's', waitMs: 0 });
  assert.ok(session);
  const waiting = receive('q', { session });
  await waiting.idle(158_000);
  assert.equal(await waiting.within(2_000 + NEWS_MS), '');
});

for (const dueMs of [21_000, 36_500, 44_000]) {
  test(`a message that is scheduled on a topic for ${dueMs} ms later is found in its subscription when it is due`, async (t) => {
    const { create, receive, other, time } = await startIdleReceivers(t);
    await create('t', { kind: 'topic' });
    await create('t/subscriptions/s', { kind: 'subscription', lockMs: 30_000 });
    const waiting = receive('t/subscriptions/s');
    await waiting.idle(IDLE_MS);
    const scheduledEnqueueAt = time.clock.now() + dueMs;
    await other.broker.send(pathOf('t'), [message('scheduled', { scheduledEnqueueAt })]);
    await waiting.idle(dueMs - 200);
    assert.equal(await waiting.within(DUE_MS), 'scheduled');
  });
}

test('a message that is scheduled on a topic is found in the held session of a subscription when it is due', async (t) => {
  const { create, receive, waiting: process, other, time } = await startIdleReceivers(t);
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', {
    kind: 'subscription',
    lockMs: 300_000,
    requiresSession: true,
  });
  const path = pathOf('t/subscriptions/s');
  const session = await process.broker.acceptSession(path, { sessionId: 'a', waitMs: 0 });
  assert.ok(session);
  const waiting = receive('t/subscriptions/s', { session });
  await waiting.idle(IDLE_MS);
  const scheduledEnqueueAt = time.clock.now() + 36_500;
  const scheduled = message('scheduled', { scheduledEnqueueAt, sessionId: 'a' });
  await other.broker.send(pathOf('t'), [scheduled]);
  await waiting.idle(36_300);
  assert.equal(await waiting.within(DUE_MS), 'scheduled');
});

for (const passedMs of [300, 700, 1100, 1500]) {
  test(`in a partitioned queue, a message is found when its lock ends ${passedMs} ms after the usual look`, async (t) => {
    const { create, receive, other } = await startIdleReceivers(t);
    await create('q', { ...QUEUE, enablePartitioning: true });
    const waiting = receive('q');
    await waiting.idle(IDLE_MS + passedMs);
    await other.broker.send(pathOf('q'), [message('locked')]);
    const locked = await other.broker.receive(pathOf('q'), ask());
    assert.equal(locked.length, 1);
    await waiting.idle(QUEUE.lockMs - 200);
    assert.equal(await waiting.within(DUE_MS), 'locked');
  });
}
