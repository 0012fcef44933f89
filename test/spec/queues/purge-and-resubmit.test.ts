import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  instant,
  lock,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  startQueue,
} from './queue.ts';

const named = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

async function deadLetterAll(broker: TestBroker, sent: readonly string[]): Promise<void> {
  await sendTogether(broker, sent);
  const held = await broker.peekLockMany('q', sent.length);
  const options = { deadLetterReason: 'bad', deadLetterErrorDescription: 'why' };
  await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'deadLetter', options)),
  );
}

async function resubmitNumbers(broker: TestBroker, sequenceNumbers: readonly number[]) {
  const answer = await broker.post(DEAD, '$resubmit', { sequenceNumbers }, 200);
  return answer.json<{ resubmitted: number }>().resubmitted;
}

test('#C2 resubmitted dead letters are new messages of the main queue, in order', async (t) => {
  const broker = await startQueue(t);
  const message = { Body: 'a', BrokerProperties: { MessageId: 'm' }, UserProperties: { mine: 1 } };
  await sendTogether(broker, [message, 'b']);
  for (const deadLetterReason of ['one', 'two']) {
    await lockAndSettle(broker, 'deadLetter', { deadLetterReason });
  }
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.resubmit(DEAD), 2);
  assert.deepEqual(await broker.peek(DEAD), []);
  const received = await broker.peekLockMany('q', 10);
  assert.deepEqual(bodies(received), ['a', 'b']);
  const [a] = received;
  assert.deepEqual(a?.properties, { mine: 1 });
  const { MessageId, SequenceNumber, DeliveryCount, EnqueuedTimeUtc } = a.broker;
  assert.deepEqual([MessageId, SequenceNumber, DeliveryCount], ['m', 3, 1]);
  assert.equal(EnqueuedTimeUtc, instant({ seconds: 60 }));
});

test('a resubmission moves up to maxMessages dead letters, oldest first, and skips locked ones', async (t) => {
  const broker = await startQueue(t);
  await deadLetterAll(broker, named(5));
  const held = await lock(broker, DEAD);
  assert.equal(await broker.resubmit(DEAD, 2), 2);
  assert.deepEqual(bodies(await broker.peek('q')), ['m1', 'm2']);
  assert.equal(await broker.resubmit(DEAD), 2);
  assert.equal(await broker.complete(held), 200);
  assert.deepEqual(await broker.peek(DEAD), []);
});

test('a resubmission by number moves these dead letters only, and skips those that it cannot', async (t) => {
  const broker = await startQueue(t);
  await deadLetterAll(broker, named(100));
  const held = await lock(broker, DEAD);
  assert.equal(await resubmitNumbers(broker, [90, 1, 40, 4711]), 2);
  assert.deepEqual(bodies(await broker.peek('q')), ['m39', 'm89']);
  assert.equal((await broker.peek(DEAD)).length, 98);
  assert.equal(await resubmitNumbers(broker, [90]), 0);
  assert.equal(await broker.abandon(held), 200);
  assert.equal(await resubmitNumbers(broker, [1]), 1);
});

test('the time to live of a dead letter starts again when it is resubmitted', async (t) => {
  const broker = await startQueue(t, { DeadLetteringOnMessageExpiration: 'true' });
  expectStatus(await broker.send('q', 'a', { TimeToLive: 60 }), 201);
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ days: 1 });
  assert.equal(await broker.resubmit(DEAD), 1);
  broker.clock.advance({ minutes: 1, ms: -1 });
  const [message] = await broker.peekLockMany('q', 1);
  assert.equal(message?.body, 'a');
});

test('a time to live above the default of the queue is lowered when a dead letter is resubmitted', async (t) => {
  const broker = await startQueue(t);
  await sendTogether(broker, [{ Body: 'a', BrokerProperties: { TimeToLive: 600 } }]);
  await lockAndSettle(broker, 'deadLetter');
  await broker.updateQueue('q', { DefaultMessageTimeToLive: 'PT30S' });

  assert.equal(await broker.resubmit(DEAD), 1);

  const [message] = await broker.peek('q');
  assert.equal(message?.broker.TimeToLive, 30);
});

test('only dead letters can be resubmitted', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  expectStatus(await broker.post('q', '$resubmit', {}), 400);
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
});

test('a dead letter is always in exactly one of the two queues while it is resubmitted', async (t) => {
  const broker = await startQueue(t);
  const sent = named(200);
  await deadLetterAll(broker, sent);
  const other = await startBroker(t, { beside: broker });
  const resubmitAll = async (one: TestBroker) => {
    let moved = 0;
    for (let last = -1; last !== 0; moved += last) last = await one.resubmit(DEAD, 20);
    return moved;
  };
  let isOver = false;
  const look = async () => {
    while (!isOver) {
      // Messages only move from the dead-letter queue to the main queue, so the order of these peeks matters.
      const inDead = bodies(await broker.peek(DEAD));
      const inMain = bodies(await broker.peek('q'));
      assert.deepEqual([...new Set([...inDead, ...inMain])].sort(), [...sent].sort(), 'in neither');
      const left = new Set(bodies(await broker.peek(DEAD)));
      assert.ok(!inMain.some((body) => left.has(body)), 'in both');
    }
  };
  const resubmit = async () => {
    const moved = await Promise.all([broker, other].map(resubmitAll));
    isOver = true;
    assert.equal(
      moved.reduce((sum, count) => sum + count),
      200,
    );
  };
  const [one, two] = await Promise.allSettled([
    resubmit().finally(() => {
      isOver = true;
    }),
    look(),
  ]);
  for (const result of [one, two]) if (result.status === 'rejected') throw result.reason;
  const received = bodies(await broker.receiveAndDeleteMany('q', 1000));
  assert.deepEqual([...received].sort(), [...sent].sort());
});

test('resubmissions that run at the same time move each dead letter once', async (t) => {
  const broker = await startQueue(t);
  const other = await startBroker(t, { beside: broker });
  for (let round = 0; round < 3; round++) {
    const sent = named(300);
    await deadLetterAll(broker, sent);
    const brokers = [broker, other, broker, other];
    const moved = await Promise.all(brokers.map((one) => one.resubmit(DEAD)));
    moved.push(await broker.resubmit(DEAD));
    assert.equal(
      moved.reduce((sum, count) => sum + count),
      300,
    );
    const received = bodies(await broker.receiveAndDeleteMany('q', 1000));
    assert.deepEqual([...received].sort(), [...sent].sort());
  }
});

test('each dead letter is either resubmitted or received when both happen at the same time', async (t) => {
  const broker = await startQueue(t);
  const other = await startBroker(t, { beside: broker });
  const sent = named(300);
  await deadLetterAll(broker, sent);
  const [resubmitted, ...received] = await Promise.all([
    other.resubmit(DEAD),
    ...Array.from({ length: 6 }, () => broker.receiveAndDeleteMany(DEAD, 30)),
  ]);
  const rest = await broker.receiveAndDeleteMany(DEAD, 1000);
  const back = await broker.receiveAndDeleteMany('q', 1000);
  assert.equal(back.length, resubmitted);
  assert.deepEqual(bodies([...received.flat(), ...rest, ...back]).sort(), [...sent].sort());
});

test('a purge removes active, locked, deferred and scheduled messages, and keeps dead letters', async (t) => {
  const broker = await startQueue(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await sendTogether(broker, ['dead', 'deferred', 'locked', 'active', messageOf('later', at)]);
  await lockAndSettle(broker, 'deadLetter');
  await lockAndSettle(broker, 'defer');
  const held = await lock(broker);
  await broker.purge('q');
  assert.deepEqual(await broker.peek('q'), []);
  assert.equal(await broker.complete(held), 404);
  assert.equal((await broker.receiveDeferredRaw('q', [2])).status, 404);
  expectStatus(await broker.cancelScheduled('q', [5]), 404);
  broker.clock.advance({ minutes: 5 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['dead']);
  const { total, deadLetter } = await broker.runtimeProperties('q');
  assert.deepEqual([total, deadLetter], [1, 1]);
});

test('a purged queue accepts and delivers messages, and its sequence numbers continue', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  await broker.purge('q');
  expectStatus(await broker.send('q', 'c'), 201);
  const message = await lock(broker);
  assert.deepEqual([message.body, message.broker.SequenceNumber], ['c', 3]);
  assert.equal(await broker.complete(message), 200);
  await broker.purge('q');
  await broker.purge('q');
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a purge of a dead-letter queue keeps the messages of the main queue', async (t) => {
  const broker = await startQueue(t);
  await deadLetterAll(broker, ['a', 'b']);
  expectStatus(await broker.send('q', 'c'), 201);
  await broker.purge(DEAD);
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.deepEqual(bodies(await broker.peek('q')), ['c']);
  await lockAndSettle(broker, 'deadLetter');
  assert.deepEqual(bodies(await broker.peek(DEAD)), ['c']);
});

test('a purge of a queue keeps the locks on its dead letters, and vice versa', async (t) => {
  const broker = await startQueue(t);
  await deadLetterAll(broker, ['dead']);
  const dead = await lock(broker, DEAD);
  await broker.purge('q');
  assert.equal(await broker.complete(dead), 200);
  expectStatus(await broker.send('q', 'live'), 201);
  const live = await lock(broker);
  await broker.purge(DEAD);
  assert.equal(await broker.complete(live), 200);
});

test('a purge consumes the same units for one message and for 5,000', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const small = await broker.units(() => broker.purge('q'));
  for (let i = 0; i < 5; i++) await sendTogether(broker, named(1000));
  const large = await broker.units(() => broker.purge('q'));
  assert.equal((await broker.runtimeProperties('q')).total, 0);
  t.diagnostic(`${small.write} write units, ${small.read} read units, ${small.requests} requests`);
  const { roundTrips: _, ...counted } = small;
  const { roundTrips: __, ...countedLarge } = large;
  assert.deepEqual(countedLarge, counted);
  assert.ok(small.write <= 8, `${small.write} write units`);
});

test('a purge in one process is visible in another', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  const other = await startBroker(t, { beside: broker });
  assert.deepEqual(bodies(await other.peek('q')), ['a']);
  await other.purge('q');
  expectStatus(await other.send('q', 'b'), 201);
  assert.deepEqual(bodies(await other.peek('q')), ['b']);
});
