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
import { bodies, instant, lock, lockAndSettle, messageOf, numbers } from '../queues/queue.ts';

const IN_90 = { ScheduledEnqueueTimeUtc: instant({ seconds: 90 }) };
const IN_10 = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };

/** Starts `source` with messages, and `target`, without forwarding between them. */
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

test('messages from before ForwardTo was set are forwarded in order, with their EnqueuedSequenceNumber', async (t) => {
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

test('messages that expired before ForwardTo was set are dead-lettered in their queue, and the others are forwarded', async (t) => {
  const broker = await start(t);
  const batch = [messageOf('old', { TimeToLive: 5 }), { Body: 'kept' }];
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

test('a message that is scheduled at a topic while the sweep forwards due messages is forwarded when it is due', async (t) => {
  const broker = await start(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'), { ForwardTo: 'target' });
  const seen = new Set<string>();
  const client = hookedClient(async ({ command }) => {
    seen.add(command);
    // The first update after the forwarding transaction raises the next due time.
    if (!seen.has('TransactWriteItemsCommand') || seen.has('later')) return;
    if (command !== 'UpdateItemCommand') return;
    seen.add('later');
    expectStatus(await broker.sendBatch('t', [messageOf('later', IN_90)]), 201);
  });
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { client, beside: broker });
  expectStatus(await broker.sendBatch('t', [messageOf('first', IN_10)]), 201);
  broker.clock.advance({ minutes: 1 });
  await sweeper.sweep();
  assert.deepEqual(await drainBodies(broker, 'target'), ['first']);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['later']);
});

test('120 stored messages with large bodies are forwarded whole, once each', async (t) => {
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

test('the DeliveryCount starts at 1 again at the destination', async (t) => {
  const broker = await start(t, 'tried');
  for (let i = 0; i < 3; i++) await lockAndSettle(broker, 'abandon', {}, 'source');
  await forward(broker);
  await sweepLater(broker);
  assert.equal((await lock(broker, 'target')).broker.DeliveryCount, 1);
});

test('a locked message is forwarded, too, as the update ends its lock', async (t) => {
  const broker = await start(t, 'held', 'free');
  const held = await lock(broker, 'source');
  await forward(broker);
  assert.equal(await broker.complete(held), 404);
  await sweepLater(broker);
  assert.deepEqual(bodies(await drain(broker, 'target')).toSorted(), ['free', 'held']);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('properties that an abandon changed are forwarded with the message', async (t) => {
  const broker = await start(t, 'x');
  await lockAndSettle(broker, 'abandon', { properties: { tried: 'once' } }, 'source');
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual((await drain(broker, 'target'))[0]?.properties, { tried: 'once' });
});

test('setting ForwardTo does not move dead letters', async (t) => {
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

test('stored messages whose new destination is disabled go to the transfer dead-letter queue', async (t) => {
  const broker = await start(t, 'a', 'b');
  expectStatus(await broker.updateQueue('target', { Status: 'Disabled' }), 200);
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, transfersOf('source')), ['a', 'b']);
  assert.deepEqual(await counts(broker, 'source'), {});
  assert.deepEqual(await counts(broker, 'target'), {});
});

test('stored messages of a subscription are forwarded once ForwardTo is set', async (t) => {
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

test('a message scheduled in a forwarding queue stays there until it is due, and is then forwarded', async (t) => {
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

test('a message scheduled before ForwardTo was set is forwarded when it is due', async (t) => {
  const broker = await start(t);
  await broker.schedule('source', [messageOf('x', IN_10)]);
  await forward(broker);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['x']);
});

test('a message scheduled in a forwarding queue can be cancelled', async (t) => {
  const broker = await start(t);
  await forward(broker);
  const [a = 0] = await broker.schedule('source', [messageOf('a', IN_10), messageOf('b', IN_10)]);
  expectStatus(await broker.cancelScheduled('source', [a]), 200);
  await sweepLater(broker);
  assert.deepEqual(await drainBodies(broker, 'target'), ['b']);
});

test('two simultaneous sweeps forward each message once', async (t) => {
  const broker = await start(t);
  const other = await startBroker(t, { beside: broker });
  const batch = Array.from({ length: 60 }, (_, i) => ({ Body: `${i}`.padEnd(2000, 'x') }));
  expectStatus(await broker.sendBatch('source', batch), 201);
  for (const body of ['one', 'two']) expectStatus(await broker.send('source', body), 201);
  // The update forwards the active messages; the two sweeps forward the scheduled ones.
  await broker.schedule(
    'source',
    batch.map(({ Body }) => messageOf(`due ${Body}`, IN_10)),
  );
  await forward(broker);
  broker.clock.advance({ minutes: 1 });
  await Promise.all([broker.sweep(), other.sweep()]);
  await sweepLater(broker);
  const expected = [...batch.flatMap(({ Body }) => [Body, `due ${Body}`]), 'one', 'two'];
  assert.deepEqual((await drainBodies(broker, 'target')).toSorted(), expected.toSorted());
});
