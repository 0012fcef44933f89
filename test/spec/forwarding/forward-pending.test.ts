import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { hookedClient } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createSubscription,
  createTopic,
  drain,
  drainBodies,
  subscription,
  transfersOf,
  updateSubscription,
} from '../../support/topic-entities.ts';
import { bodies, instant, lock, lockAndSettle, numbers, withBroker } from '../queues/queue.ts';

const IN_90 = { ScheduledEnqueueTimeUtc: instant({ seconds: 90 }) };
const IN_10 = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };

/** `source` with messages, and `target`; nothing is forwarded yet. */
async function start(t: TestContext, ...sent: readonly string[]): Promise<TestBroker> {
  const broker = await startBroker(t);
  for (const name of ['target', 'source']) expectStatus(await broker.createQueue(name), 201);
  for (const body of sent) expectStatus(await broker.send('source', body), 201);
  return broker;
}

async function forward(broker: TestBroker, settings: Record<string, string> = {}): Promise<void> {
  expectStatus(await broker.updateQueue('source', { ForwardTo: 'target', ...settings }), 200);
}

async function sweepLater(broker: TestBroker): Promise<void> {
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
}

test('messages that were there before a queue forwards go on, in order and with their first numbers', async (t) => {
  const broker = await start(t, 'a', 'b');
  expectStatus(await broker.sendBatch('source', [{ Body: 'c' }, { Body: 'd' }]), 201);
  await forward(broker);
  expectStatus(await broker.send('source', 'e'), 201);
  await sweepLater(broker);
  const all = await drain(broker, 'target');
  assert.deepEqual(bodies(all), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(
    all.map(({ broker: shown }) => shown['EnqueuedSequenceNumber']),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual(numbers(all), [1, 2, 3, 4, 5]);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('what expired before a queue forwards becomes a dead letter of that queue, and the rest goes on', async (t) => {
  const broker = await start(t);
  const batch = [withBroker('old', { TimeToLive: 5 }), { Body: 'kept' }];
  expectStatus(await broker.sendBatch('source', batch), 201);
  broker.clock.advance({ seconds: 10 });
  await forward(broker, { DeadLetteringOnMessageExpiration: 'true' });
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['kept']);
  const [dead] = await drain(broker, 'source/$deadletterqueue');
  assert.deepEqual(
    [dead?.body, dead?.properties['DeadLetterReason']],
    ['old', 'TTLExpiredException'],
  );
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('what is scheduled at a topic while the sweep sends on what is due is sent on at its time', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), { ForwardTo: 'target' });
  const seen = new Set<string>();
  const client = hookedClient(async ({ command }) => {
    seen.add(command);
    // The first update behind the transaction that sends on is the one that raises the next due time.
    if (!seen.has('TransactWriteItemsCommand') || seen.has('later')) return;
    if (command !== 'UpdateItemCommand') return;
    seen.add('later');
    expectStatus(await broker.sendBatch('t', [withBroker('later', IN_90)]), 201);
  });
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { client, beside: broker });
  expectStatus(await broker.sendBatch('t', [withBroker('first', IN_10)]), 201);
  broker.clock.advance({ minutes: 1 });
  await sweeper.sweep();
  assert.deepEqual(await drainBodies(broker, 'target'), ['first']);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['later']);
});

test('many messages with large bodies go on, each once and whole', async (t) => {
  const broker = await start(t);
  const sent: string[] = [];
  for (let i = 0; i < 12; i++) {
    const batch = Array.from({ length: 10 }, () => ({
      Body: randomBytes(3000).toString('base64'),
    }));
    sent.push(...batch.map(({ Body }) => Body));
    expectStatus(await broker.sendBatch('source', batch), 201);
  }
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), sent);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('a delivery count begins anew at the destination', async (t) => {
  const broker = await start(t, 'tried');
  for (let i = 0; i < 3; i++) await lockAndSettle(broker, 'abandon', {}, 'source');
  await forward(broker);
  await sweepLater(broker);
  assert.equal((await lock(broker, 'target')).broker.DeliveryCount, 1);
});

test('a message under a lock goes on as well, since the change ends the lock', async (t) => {
  const broker = await start(t, 'held', 'free');
  const held = await lock(broker, 'source');
  await forward(broker);
  assert.equal(await broker.complete(held), 404);
  await sweepLater(broker);
  assert.deepEqual(bodies(await drain(broker, 'target')).toSorted(), ['free', 'held']);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('what a message became by abandons with properties goes on with it', async (t) => {
  const broker = await start(t, 'x');
  await lockAndSettle(broker, 'abandon', { properties: { tried: 'once' } }, 'source');
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual((await drain(broker, 'target'))[0]?.properties, { tried: 'once' });
});

test('dead letters stay where they are when a queue begins to forward', async (t) => {
  const broker = await start(t, 'dead', 'alive');
  await lockAndSettle(broker, 'deadLetter', {}, 'source');
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['alive']);
  assert.deepEqual(await drainBodies(broker, 'source/$deadletterqueue'), ['dead']);
});

test('an expired message is not forwarded', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.send('source', 'late', { TimeToLive: 10 }), 201);
  expectStatus(await broker.send('source', 'good'), 201);
  broker.clock.advance({ seconds: 10 });
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['good']);
});

test('messages that wait where the destination is gone go to the transfer dead-letter queue', async (t) => {
  const broker = await start(t, 'a', 'b');
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, transfersOf('source')), ['a', 'b']);
  assert.deepEqual(await counts(broker, 'source'), {});
  assert.deepEqual(await counts(broker, 'target'), {});
});

test('messages of a subscription that begins to forward go on', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'));
  await createSubscription(broker, subscription('other'));
  const large = randomBytes(40_000).toString('base64');
  expectStatus(await broker.sendBatch('t', [{ Body: 'small' }, { Body: large }]), 201);
  await updateSubscription(broker, subscription('s'), { ForwardTo: 'target' });
  expectStatus(await broker.send('t', 'after'), 201);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['small', large, 'after']);
  assert.deepEqual(await drainBodies(broker, subscription('other')), ['small', large, 'after']);
  assert.deepEqual(await counts(broker, subscription('s')), {});
});

test('a message scheduled in a forwarding queue waits there, and goes on when it is due', async (t) => {
  const broker = await start(t);
  await forward(broker);
  expectStatus(await broker.send('source', 'x', { ...IN_10, TimeToLive: 600 }), 201);
  assert.deepEqual(await counts(broker, 'source'), { Message: 1, Scheduled: 1 });
  broker.clock.advance({ ms: 9999 });
  await broker.sweep();
  assert.deepEqual(await broker.peek('target'), []);
  broker.clock.advance({ ms: 1 });
  await broker.sweep();
  const [message] = await drain(broker, 'target');
  assert.deepEqual([message?.body, message?.broker.State], ['x', 'Active']);
  assert.equal(message?.broker.EnqueuedTimeUtc, instant({ seconds: 10 }));
  assert.notEqual(message?.broker['EnqueuedSequenceNumber'], 0);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('a message scheduled before its queue forwarded goes on when it is due', async (t) => {
  const broker = await start(t);
  await broker.schedule('source', [withBroker('x', IN_10)]);
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['x']);
});

test('a message scheduled in a forwarding queue can be cancelled there', async (t) => {
  const broker = await start(t);
  await forward(broker);
  const [a = 0] = await broker.schedule('source', [withBroker('a', IN_10), withBroker('b', IN_10)]);
  expectStatus(await broker.cancelScheduled('source', [a]), 200);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['b']);
});

test('two sweeps at once forward each message once', async (t) => {
  const broker = await start(t);
  const twin = await startBroker(t, { beside: broker });
  const batch = Array.from({ length: 60 }, (_, i) => ({ Body: `${i}`.padEnd(2000, 'x') }));
  expectStatus(await broker.sendBatch('source', batch), 201);
  for (const body of ['one', 'two']) expectStatus(await broker.send('source', body), 201);
  // The update forwards what it can; what is scheduled is left to the two.
  await broker.schedule(
    'source',
    batch.map(({ Body }) => withBroker(`due ${Body}`, IN_10)),
  );
  await forward(broker);
  broker.clock.advance({ minutes: 1 });
  await Promise.all([broker.sweep(), twin.sweep()]);
  await sweepLater(broker);
  const expected = [...batch.flatMap(({ Body }) => [Body, `due ${Body}`]), 'one', 'two'];
  assert.deepEqual((await drainBodies(broker, 'target')).toSorted(), expected.toSorted());
});
