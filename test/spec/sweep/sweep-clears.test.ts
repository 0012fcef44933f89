import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { interposingClient } from '../../support/interposing-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  instant,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  startQueue,
} from '../queues/queue.ts';

/** After an hour of sweeps there is no cleanup left to do, also if they are rare. */
const SWEEPS = isMore() ? 60 : 12;

async function sweepForAnHour(broker: TestBroker): Promise<void> {
  for (let i = 0; i < SWEEPS; i++) {
    broker.clock.advance({ minutes: 60 / SWEEPS });
    await broker.sweep();
  }
}

/** Messages in every state, with payloads inside and outside their blocks. */
async function fill(broker: TestBroker): Promise<void> {
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 86_400 * 365 }) };
  const large = randomBytes(60 * 1024).toString('base64');
  const sent = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(400, '.'));
  await sendTogether(broker, sent);
  await sendTogether(broker, [large, large, messageOf(large, at), messageOf('small', at)]);
  const held = await broker.peekLockMany('q', 120);
  const ways = ['deadLetter', 'defer', 'abandon', 'complete'] as const;
  await broker.settle(
    'q',
    held.map((message, i) =>
      settlementOf(message, ways[i % 4] ?? 'complete', i % 4 === 2 ? { properties: { i } } : {}),
    ),
  );
}

/** The sweep deletes its own last item when the last scheduled message would have come due. */
async function requireNothingLeftToDo(broker: TestBroker, items: StoredItems): Promise<void> {
  broker.clock.advance({ days: 366 });
  await broker.sweep();
  assert.equal(await items.ofSweep(), 0);
}

async function startStored(t: TestContext, settings: Record<string, string> = {}) {
  const broker = await startQueue(t, settings);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const id = await items.idOf('q');
  return { broker, items, id, empty: await items.ofEntity(id) };
}

/** Waits for the work that the broker does after its answers. */
const settled = (broker: TestBroker) => broker.units(async () => {});

test('#160 the sweep deletes every item of a deleted queue', async (t) => {
  const { broker, items, id } = await startStored(t);
  await fill(broker);
  assert.ok((await items.ofEntity(id)) > 20);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  await sweepForAnHour(broker);
  assert.equal(await items.ofEntity(id), 0);
  await requireNothingLeftToDo(broker, items);
});

test('the sweep deletes every item of a queue that is purged while it is being deleted', async (t) => {
  const { broker, items, id } = await startStored(t);
  const { client, beforeNextTransaction } = interposingClient();
  t.after(() => client.destroy());
  const other = await startBroker(t, { client, beside: broker });
  beforeNextTransaction(async () => {
    await broker.purge('q');
    await sendTogether(broker, ['a', 'b']);
  });
  expectStatus(await other.request('DELETE', 'q'), 200);
  await sweepForAnHour(broker);
  assert.equal(await items.ofEntity(id), 0);
});

test('the sweep deletes every item of a queue that was deleted by AutoDeleteOnIdle', async (t) => {
  const { broker, items, id } = await startStored(t, { AutoDeleteOnIdle: 'PT5M' });
  await sendTogether(broker, ['a', 'b', 'dead']);
  await lockAndSettle(broker, 'deadLetter');
  await sweepForAnHour(broker);
  assert.equal(await items.ofEntity(id), 0);
  await requireNothingLeftToDo(broker, items);
});

test('the sweep deletes every item of purged messages, and the other messages stay', async (t) => {
  const { broker, items, id, empty } = await startStored(t);
  await fill(broker);
  const dead = bodies(await broker.peek(DEAD));
  assert.ok(dead.length > 0);
  await broker.purge('q');
  expectStatus(await broker.send('q', 'new'), 201);
  await sweepForAnHour(broker);
  assert.deepEqual(bodies(await broker.peek('q')), ['new']);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 1000)), dead);
  assert.ok(await broker.receiveAndDelete('q'));
  await settled(broker);
  assert.equal(await items.ofEntity(id), empty);
  await requireNothingLeftToDo(broker, items);
});

test('the sweep deletes every item of purged dead letters, and the messages of the queue stay', async (t) => {
  const { broker, items, id, empty } = await startStored(t);
  await fill(broker);
  const before = await broker.peek('q');
  await broker.purge(DEAD);
  await sweepForAnHour(broker);
  assert.deepEqual(await broker.peek(DEAD), []);
  const after = await broker.peek('q');
  assert.deepEqual(bodies(after), bodies(before));
  await broker.purge('q');
  await sweepForAnHour(broker);
  assert.equal(await items.ofEntity(id), empty);
});

test('received, completed, cancelled and deleted messages leave no items, without a sweep', async (t) => {
  const { broker, items, id, empty } = await startStored(t);
  await fill(broker);
  broker.clock.advance({ minutes: 5 });
  const shown: Received[] = [];
  for (let last = -1; last !== shown.length; ) {
    last = shown.length;
    shown.push(
      ...(await broker.peek('q', { from: (shown.at(-1)?.broker.SequenceNumber ?? 0) + 1 })),
    );
  }
  const numbersOf = (state: string) =>
    shown.flatMap(({ broker: b }) => (b.State === state ? [b.SequenceNumber] : []));
  expectStatus(await broker.cancelScheduled('q', numbersOf('Scheduled')), 200);
  await broker.receiveDeferred('q', numbersOf('Deferred'), 'receiveAndDelete');
  const held = await broker.peekLockMany('q', 1000);
  await broker.settle(
    'q',
    held.map((message) => settlementOf(message, 'complete')),
  );
  await broker.receiveAndDeleteMany(DEAD, 1000);
  assert.deepEqual([await broker.peek('q'), await broker.peek(DEAD)], [[], []]);
  await settled(broker);
  // The due time of a cancelled message is deleted when it has come.
  broker.clock.advance({ days: 366 });
  assert.equal(await broker.peekLock('q'), undefined);
  await broker.sweep();
  assert.equal(await items.ofEntity(id), empty);
});

for (const flag of ['false', 'true']) {
  test(`expired messages leave no items after a receive (dead-lettering: ${flag})`, async (t) => {
    const { broker, items, id, empty } = await startStored(t, {
      DefaultMessageTimeToLive: 'PT1M',
      DeadLetteringOnMessageExpiration: flag,
    });
    const large = randomBytes(60 * 1024).toString('base64');
    const sent = Array.from({ length: 300 }, (_, i) => `${i}`.padEnd(200, '.'));
    await sendTogether(broker, sent);
    await sendTogether(broker, [large, large]);
    broker.clock.advance({ minutes: 1 });
    for (let i = 0; i < 5; i++) assert.equal(await broker.peekLock('q'), undefined);
    const dead = await broker.receiveAndDeleteMany(DEAD, 1000);
    assert.equal(dead.length, flag === 'true' ? 302 : 0);
    await settled(broker);
    assert.equal(await items.ofEntity(id), empty);
  });
}

test('the sweep clears a large queue in several runs, each of at most 1,000 requests', async (t) => {
  const { broker, items, id, empty } = await startStored(t);
  const bodyOf = () => randomBytes(1500).toString('base64');
  for (let i = 0; i < 6; i++) await sendTogether(broker, Array.from({ length: 400 }, bodyOf));
  await broker.purge('q');
  let runs = 0;
  while ((await items.ofEntity(id)) > empty && runs < 60) {
    broker.clock.advance({ minutes: 1 });
    const { requests } = await broker.units(() => broker.sweep());
    assert.ok(requests <= 1000, `${requests} requests in one run`);
    runs++;
  }
  assert.equal(await items.ofEntity(id), empty);
});
