import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { StreamCalls, StreamRecord } from '../../shared/storage/streams/stream-calls.ts';
import { ask, message } from '../support/composed-process.ts';
import { pathOf, startIdleReceivers, Waiting } from '../support/idle-receivers.ts';
import { streamOf } from '../support/streamed-tables.ts';

/** Receivers of a process that reads the stream of the messages table, and what other processes do meanwhile. */

const MINUTE_MS = 60_000;
/** Receivers have waited for so long: no look of their own is near, with the stream or without it. */
const IDLE_MS = 11_000;
/** The next read of the stream, and the look after it; time passes in steps of 100 ms. */
const WOKEN_MS = 400;
const LOCK_MS = 30_000;
const QUEUE = { kind: 'queue', lockMs: LOCK_MS } as const;

function start(t: TestContext, change?: (calls: StreamCalls) => StreamCalls) {
  return startIdleReceivers(t, { stream: (time) => streamOf(t, time, change) });
}

test('a message that another process sends is found by the next read of the stream', async (t) => {
  const { create, receive, other } = await start(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('sent')]);
  assert.equal(await waiting.within(WOKEN_MS), 'sent');
});

test('a message that is sent while the stream is being opened is found by the look after that', async (t) => {
  const { create, receive, other, time } = await start(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await time.settled();
  await other.broker.send(pathOf('q'), [message('early')]);
  assert.equal(await waiting.within(700), 'early');
});

test('an idle receiver asks twice a minute, and reads no header', async (t) => {
  const { create, receive, time, unitsDuring } = await start(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await time.pass(2000);
  const { requests, read } = await unitsDuring(3 * MINUTE_MS);
  assert.deepEqual([requests, read], [6 * 3, 6 * 3]);
  await waiting.idle(100);
});

test('several messages in one block wake as many receivers, which share one claim', async (t) => {
  const { create, receive, other, unitsDuring } = await start(t);
  await create('q', QUEUE);
  const receivers = Array.from({ length: 5 }, () => receive('q'));
  await receivers[0]?.idle(IDLE_MS);
  const bodies = ['1', '2', '3', '4', '5'];
  await other.broker.send(
    pathOf('q'),
    bodies.map((body) => message(body)),
  );
  const { write } = await unitsDuring(WOKEN_MS);
  assert.equal(write, 1);
  const found = await Promise.all(receivers.map((receiver) => receiver.within(0)));
  assert.deepEqual(found.sort(), bodies);
});

for (const [what, path, settings] of [
  ['a partitioned queue', 'q', { ...QUEUE, enablePartitioning: true }],
  ['a queue', 'q', QUEUE],
] as const) {
  test(`each of several messages to ${what} is found by the next read`, async (t) => {
    const { create, receive, other } = await start(t);
    await create(path, settings);
    for (const body of ['1', '2', '3']) {
      const waiting = receive(path, { mode: 'receiveAndDelete' });
      await waiting.idle(IDLE_MS);
      await other.broker.send(pathOf(path), [message(body)]);
      assert.equal(await waiting.within(WOKEN_MS), body);
    }
  });
}

test('a published message is found in its subscription by the next read', async (t) => {
  const { create, receive, other } = await start(t);
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', { kind: 'subscription', lockMs: LOCK_MS });
  const waiting = receive('t/subscriptions/s');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('t'), [message('published')]);
  assert.equal(await waiting.within(WOKEN_MS), 'published');
});

for (const place of ['q', 't/subscriptions/s'] as const) {
  test(`a message that another process schedules is found in ${place} when it is due`, async (t) => {
    const { create, receive, other, time } = await start(t);
    await create('q', QUEUE);
    await create('t', { kind: 'topic' });
    await create('t/subscriptions/s', { kind: 'subscription', lockMs: LOCK_MS });
    const waiting = receive(place);
    await waiting.idle(IDLE_MS);
    const [to = ''] = place.split('/');
    const scheduledEnqueueAt = time.clock.now() + 5000;
    await other.broker.send(pathOf(to), [message('scheduled', { scheduledEnqueueAt })]);
    await waiting.idle(4900);
    assert.equal(await waiting.within(WOKEN_MS), 'scheduled');
  });
}

test('what another process abandons, dead-letters or reactivates is found by the next read', async (t) => {
  const { create, receive, other } = await start(t);
  await create('q', { ...QUEUE, lockMs: 300_000 });
  const settle = async (kind: 'abandon' | 'deadLetter' | 'defer') => {
    await other.broker.send(pathOf('q'), [message(kind)]);
    const [locked] = await other.broker.receive(pathOf('q'), ask());
    assert.ok(locked !== undefined && 'lockToken' in locked);
    const settled = async () => {
      const action = { kind, properties: {} };
      await other.broker.settle(pathOf('q'), [{ lockToken: locked.lockToken, action }]);
    };
    return { locked, settled };
  };
  const abandoned = await settle('abandon');
  const waiting = receive('q', { mode: 'receiveAndDelete' });
  await waiting.idle(IDLE_MS);
  await abandoned.settled();
  assert.equal(await waiting.within(WOKEN_MS), 'abandon');

  const dead = await settle('deadLetter');
  const waitingForDead = receive('q/$deadletterqueue');
  await waitingForDead.idle(IDLE_MS);
  await dead.settled();
  assert.equal(await waitingForDead.within(WOKEN_MS), 'deadLetter');

  const deferred = await settle('defer');
  await deferred.settled();
  const waitingForDeferred = receive('q', { mode: 'receiveAndDelete' });
  await waitingForDeferred.idle(IDLE_MS);
  const { sequenceNumber } = deferred.locked;
  await other.broker.operate(pathOf('q'), { kind: 'reactivate' }, [sequenceNumber]);
  assert.equal(await waitingForDeferred.within(WOKEN_MS), 'defer');
});

test('a message that another process locked at once is found when its lock ends', async (t) => {
  const { create, receive, other } = await start(t);
  await create('q', { ...QUEUE, lockMs: 5000 });
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('locked')]);
  await other.broker.receive(pathOf('q'), ask());
  await waiting.idle(4900);
  assert.equal(await waiting.within(WOKEN_MS), 'locked');
});

test('a message to a held session, and one to a session that nobody holds, are found by the next read', async (t) => {
  const { create, receive, waiting: process, other, time } = await start(t);
  await create('q', { kind: 'queue', lockMs: 300_000, requiresSession: true });
  const session = await process.broker.acceptSession(pathOf('q'), { sessionId: 'a/b', waitMs: 0 });
  assert.ok(session);
  const waiting = receive('q', { session });
  await waiting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('to a session', { sessionId: 'a/b' })]);
  assert.equal(await waiting.within(WOKEN_MS), 'to a session');

  const accepting = new Waiting(
    time,
    process.broker.acceptSession(pathOf('q'), { waitMs: 10 * MINUTE_MS }).then((lock) => {
      throw new Error(lock?.sessionId);
    }),
  );
  await accepting.idle(IDLE_MS);
  await other.broker.send(pathOf('q'), [message('first', { sessionId: 'next' })]);
  assert.equal(await accepting.within(WOKEN_MS), 'Error: next');
});

test('a receiver hears within three seconds that another process deleted its queue', async (t) => {
  const { create, receive, other } = await start(t);
  await create('q', QUEUE);
  const waiting = receive('q');
  await waiting.idle(IDLE_MS);
  await other.management.delete('q');
  assert.equal(await waiting.within(3000), 'MessagingEntityNotFound');
});

test('while the stream cannot be read, receivers look for themselves within two seconds', async (t) => {
  let isBroken = false;
  const { create, receive, other } = await start(t, (calls) => ({
    ...calls,
    read: async (iterator) => {
      if (isBroken) throw new Error('The network is down.');
      return await calls.read(iterator);
    },
  }));
  await create('q', QUEUE);
  const waiting = receive('q', { mode: 'receiveAndDelete' });
  await waiting.idle(IDLE_MS);
  isBroken = true;
  await waiting.idle(10_000);
  await other.broker.send(pathOf('q'), [message('sent')]);
  assert.equal(await waiting.within(2600), 'sent');
});

test('records that are lost, doubled, late and out of order lose no message, and give none twice', async (t) => {
  let pages = 0;
  const { create, receive, other } = await start(t, (calls) => ({
    ...calls,
    read: async (iterator) => {
      const page = await calls.read(iterator);
      const { records } = page;
      // Of two pages with records the first is lost, and the second one comes twice and backwards.
      if (records.length === 0) return page;
      pages++;
      return { ...page, records: pages % 2 === 1 ? [] : [...records, ...records].reverse() };
    },
  }));
  await create('q', QUEUE);
  const found: string[] = [];
  for (const body of ['1', '2', '3', '4']) {
    const waiting = receive('q', { mode: 'receiveAndDelete' });
    await waiting.idle(IDLE_MS);
    await other.broker.send(pathOf('q'), [message(body)]);
    found.push(await waiting.within(31_000));
  }
  assert.deepEqual(found, ['1', '2', '3', '4']);
});

test('what a process sends itself wakes its receivers once: the stream adds no look', async (t) => {
  const unheard: StreamRecord[] = [];
  const {
    create,
    receive,
    waiting: process,
    unitsDuring,
    time,
  } = await start(t, (calls) => ({
    ...calls,
    // Each read brings one record, so the message looks free until the next one.
    read: async (iterator) => {
      const page = await calls.read(iterator);
      unheard.push(...page.records);
      return { ...page, records: unheard.splice(0, 1) };
    },
  }));
  await create('q', QUEUE);
  const receivers = [1, 2].map(() => receive('q', { mode: 'receiveAndDelete' }));
  await receivers[0]?.idle(IDLE_MS);
  await process.broker.send(pathOf('q'), [message('own')]);
  await time.settled();
  const outcomes = await Promise.all(receivers.map((receiver) => receiver.within(0)));
  assert.deepEqual(outcomes.sort(), ['own', 'waits']);
  // Both have looked after the send already, the second because there might have been more.
  assert.equal((await unitsDuring(5000)).requests, 0);
});
