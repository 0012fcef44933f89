import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import { message } from '../support/composed-process.ts';
import { type IdleReceivers, pathOf, startIdleReceivers } from '../support/idle-receivers.ts';
import { startPauses } from '../support/pause-client.ts';

/**
 * Receivers that have waited for some minutes on empty logs, and what other processes do meanwhile. Each way in which
 * a message becomes available has its bound: docs/architecture/receiving.md.
 */

/** As long as a receiver waits before the other process acts, ms: long after it began to look less often. */
const IDLE_MS = 150_000;
/** A message of another process is found by the next read of headers, or by the look after it. */
const NEWS_MS = 2600;
/** A dead letter of another process. */
const DEAD_LETTER_MS = 10_500;
/** What changes no header. */
const LATEST_MS = 31_000;
const LOCK_MS = 30_000;
const QUEUE = { kind: 'queue', lockMs: LOCK_MS } as const;

test('#16 a message that another process sends is found within about two seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('sent')]);
  assert.equal(await waiting.within(NEWS_MS), 'sent');
});

test('a message to a partitioned queue is found within about two seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', { ...QUEUE, enablePartitioning: true });
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('sent')]);
  assert.equal(await waiting.within(NEWS_MS), 'sent');
});

test('a message that another process publishes is found in its subscription within about two seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', { kind: 'subscription', lockMs: LOCK_MS });
  const waiting = receive('t/subscriptions/s');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('t'), [message('published')]);
  assert.equal(await waiting.within(NEWS_MS), 'published');
});

test('a message that another process forwards is found at its destination within about two seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', QUEUE);
  await create('source', { ...QUEUE, forwardTo: 'q' });
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('source'), [message('forwarded')]);
  assert.equal(await waiting.within(NEWS_MS), 'forwarded');
});

test('a message to a held session is found within about two seconds', async (t) => {
  const { create, receive, waiting: process, other, time } = await startIdleReceivers(t);
  await create('q', { kind: 'queue', lockMs: 300_000, requiresSession: true });
  const session = await process.broker.acceptSession(pathOf('q'), { sessionId: 's', waitMs: 0 });
  assert.ok(session);
  const waiting = receive('q', { session });
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('to a session', { sessionId: 's' })]);
  assert.equal(await waiting.within(NEWS_MS), 'to a session');
  await time.settled();
});

for (const place of ['q', 't/subscriptions/s'] as const) {
  test(`a message that another process schedules is found in ${place} when it is due`, async (t) => {
    const { create, receive, other, time } = await startIdleReceivers(t);
    await create('q', QUEUE);
    await create('t', { kind: 'topic' });
    await create('t/subscriptions/s', { kind: 'subscription', lockMs: LOCK_MS });
    const waiting = receive(place);
    await waiting.idle(IDLE_MS);
    const scheduledEnqueueAt = time.clock.now() + 100_000;
    const [to = ''] = place.split('/');
    await other.broker.send(pathOf(to), [message('scheduled', { scheduledEnqueueAt })]);
    await waiting.idle(99_900);
    assert.equal(await waiting.within(NEWS_MS), 'scheduled');
  });
}

test('a message that another process locked is found when its lock ends, to the millisecond', async (t) => {
  const { create, receive, other, time } = await startIdleReceivers(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await sendAndLock({ other });
  const endsAt = time.now() + LOCK_MS;
  await waiting.idle(LOCK_MS - 100);
  assert.equal(await waiting.within(200), 'locked');
  assert.ok(time.now() - endsAt <= 200);
});

test('a message that another process abandons is found within about two seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', { ...QUEUE, lockMs: 300_000 });
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  const lockToken = await sendAndLock({ other });
  await waiting.idle(IDLE_MS);
  await other.broker.settle(pathOf('q'), [
    { lockToken, action: { kind: 'abandon', properties: {} } },
  ]);
  assert.equal(await waiting.within(NEWS_MS), 'locked');
});

test('a message that another process dead-letters is found within ten seconds', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', { ...QUEUE, lockMs: 300_000 });
  const waiting = receive('q/$deadletterqueue');
  const lockToken = await sendAndLock({ other });
  await waiting.idle(IDLE_MS);
  await other.broker.settle(pathOf('q'), [
    { lockToken, action: { kind: 'deadLetter', properties: {} } },
  ]);
  assert.equal(await waiting.within(DEAD_LETTER_MS), 'locked');
});

test('a deferred message that another process reactivates is found within half a minute', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', QUEUE);
  const lockToken = await sendAndLock({ other });
  await other.broker.settle(pathOf('q'), [
    { lockToken, action: { kind: 'defer', properties: {} } },
  ]);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  const [deferred] = await other.broker.peek(pathOf('q'), { maxMessages: 1 });
  assert.ok(deferred);
  await other.broker.operate(pathOf('q'), { kind: 'reactivate' }, [deferred.sequenceNumber]);
  assert.equal(await waiting.within(LATEST_MS), 'locked');
});

test('a receiver hears within about two seconds that another process deleted its queue', async (t) => {
  const { create, receive, other } = await startIdleReceivers(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.management.delete('q');
  assert.equal(await waiting.within(NEWS_MS), 'MessagingEntityNotFound');
});

test('a receiver hears within half a minute that another process disabled its queue, and at once of its own', async (t) => {
  const { create, receive, other, waiting: process, time } = await startIdleReceivers(t);
  await create('q', QUEUE);
  await create('mine', QUEUE);
  const [waiting, mine] = [receive('q'), receive('mine')];
  await waiting.idle(IDLE_MS);
  await other.management.update('q', { ...QUEUE, status: 'Disabled' }, '*');
  const changing = process.management.update('mine', { ...QUEUE, status: 'Disabled' }, '*');
  await time.settled();
  assert.equal(await mine.within(100), 'MessagingEntityDisabled');
  assert.equal(await waiting.within(LATEST_MS), 'MessagingEntityDisabled');
  await changing;
});

test('a message that a slow sender stores long after its header is found within half a minute', async (t) => {
  const { client, pauseNext } = startPauses();
  t.after(() => client.destroy());
  const { create, receive, other } = await startIdleReceivers(t, { otherClient: client });
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  const put = pauseNext(({ command }) => command === 'PutItemCommand');
  const sending = other.broker.send(pathOf('q'), [message('late')]);
  await put.reached;
  await waiting.idle(40_000);
  put.goOn();
  await sending;
  assert.equal(await waiting.within(LATEST_MS), 'late');
});

test('while no header can be read, receivers look for themselves', async (t) => {
  let isRefused = false;
  const hook = (command: string) => {
    if (isRefused && command === 'BatchGetItemCommand') throw throttled();
  };
  const { create, receive, other } = await startIdleReceivers(t, { hook });
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  isRefused = true;
  await waiting.idle(10_000);
  await other.broker.send(pathOf('q'), [message('sent')]);
  assert.equal(await waiting.within(NEWS_MS), 'sent');
});

/** Sends a message through the other process, which locks it before the waiting one looks. */
async function sendAndLock({ other }: Pick<IdleReceivers, 'other'>): Promise<string> {
  await other.broker.send(pathOf('q'), [message('locked')]);
  const received = await other.broker.receive(pathOf('q'), {
    mode: 'peekLock',
    maxMessages: 1,
    waitMs: 0,
  });
  const [locked] = received;
  assert.ok(locked !== undefined && 'lockToken' in locked);
  return locked.lockToken;
}

function throttled(): Error {
  return new ProvisionedThroughputExceededException({ message: 'Slow down.', $metadata: {} });
}
