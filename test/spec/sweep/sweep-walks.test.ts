import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { hookedClient } from '../../support/hooked-client.ts';
import { START } from '../../support/manual-clock.ts';
import { startPauses } from '../../support/pause-client.ts';
import { PayloadItems } from '../../support/payload-items.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { drain, lockOne, QUEUE, startSessions } from '../sessions/session-fixture.ts';

const ORPHAN = 'orphan';

interface Queue {
  readonly id: string;
  readonly payloads: PayloadItems;
}

/** Queues, each with a payload that no message refers to. */
async function startWithOrphans(t: TestContext, count: number) {
  const broker = await startBroker(t);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const queues: Queue[] = [];
  for (let i = 0; i < count; i++) {
    expectStatus(await broker.createQueue(`q${i}`), 201);
    const id = await items.idOf(`q${i}`);
    const payloads = new PayloadItems(id);
    t.after(() => payloads.close());
    await payloads.put([ORPHAN]);
    queues.push({ id, payloads });
  }
  return { broker, queues };
}

/** The indexes of the queues that still have the orphan. */
async function withOrphan(queues: readonly Queue[]): Promise<readonly number[]> {
  const places: number[] = [];
  for (const [place, { payloads }] of queues.entries()) {
    if ((await payloads.names()).length > 0) places.push(place);
  }
  return places;
}

/** Sets the clock to this many days after the start of the test. */
function goToDay(broker: TestBroker, day: number): void {
  broker.clock.advance({ ms: START + day * 86_400_000 - broker.clock.now() });
}

/** Sweeps this many times, a minute apart. */
async function sweepTimes(broker: TestBroker, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
}

test('orphans are deleted in every queue although the sweep runs only once an hour', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 8);
  for (let hour = 0; hour < 72; hour++) {
    broker.clock.advance({ hours: 1 });
    await broker.sweep();
  }
  assert.deepEqual(await withOrphan(queues), []);
});

test('an orphan is deleted by the second check, a day after the first', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 1);
  await sweepTimes(broker, 3);
  broker.clock.advance({ hours: 12 });
  await sweepTimes(broker, 3);
  assert.deepEqual(await withOrphan(queues), [0], 'after one check');
  goToDay(broker, 1.5);
  await sweepTimes(broker, 1);
  assert.deepEqual(await withOrphan(queues), []);
});

test('a payload without a message at the first check is kept if a message refers to it at the second', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 1);
  await broker.sweep();
  await queues[0]?.payloads.name([ORPHAN]);
  for (let day = 1; day <= 4; day++) {
    goToDay(broker, day);
    await broker.sweep();
  }
  assert.deepEqual(await withOrphan(queues), [0]);
});

test('a namespace whose check takes longer than one run is checked by several runs', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 12);
  // Every query of the payloads of a queue takes 10 s.
  let looks = 0;
  const client = hookedClient(({ command, collection }) => {
    if (command !== 'QueryCommand' || !collection.endsWith('.0p')) return;
    looks++;
    broker.clock.advance({ seconds: 10 });
  });
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client });
  for (const day of [1, 2]) {
    goToDay(broker, day);
    looks = 0;
    for (let run = 0; run < 4; run++) {
      const beganAt = broker.clock.now();
      await sweeper.sweep();
      assert.ok(broker.clock.now() - beganAt < 55_000, 'a run ends before its function does');
      broker.clock.advance({ minutes: 1 });
    }
    assert.equal(looks, queues.length, 'each queue is checked once a day');
  }
  assert.deepEqual(await withOrphan(queues), []);
});

test('a walk that was interrupted between subscriptions continues with the next one', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 1);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const names = Array.from({ length: 6 }, (_, i) => `s${i}`);
  for (const topic of ['a', 'b']) {
    await createTopic(broker, topic);
    for (const name of names) await createSubscription(broker, subscription(name, topic));
  }
  const looked: string[] = [];
  const client = hookedClient(({ command, collection }) => {
    if (command !== 'QueryCommand' || !collection.endsWith('.0p')) return;
    looked.push(collection);
    broker.clock.advance({ seconds: 15 });
  });
  t.after(() => client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client });
  for (let run = 0; run < 6; run++) {
    await sweeper.sweep();
    broker.clock.advance({ minutes: 1 });
  }
  assert.equal(looked.length, 2 * (1 + names.length) + queues.length);
  assert.equal(new Set(looked).size, looked.length, 'no entity is checked twice');
});

test('an entity whose check kills the sweep does not delay the check of other entities', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 5);
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const crashing = await startBroker(t, { beside: broker, client: pauses.client });
  const fatal = 2;
  const isFatal = ({ collection }: { collection: string }) =>
    collection === `${queues[fatal]?.id}.0p`;
  for (let day = 0; day < 3; day++) {
    goToDay(broker, day);
    // The function ends while it checks that queue; the next run begins a minute later.
    const death = pauses.pauseNext(isFatal);
    t.after(() => death.goOnWithoutAnswer());
    await Promise.race([death.reached, crashing.sweep()]);
    await sweepTimes(crashing, 2);
  }
  assert.deepEqual(await withOrphan(queues), [fatal]);
});

test('an orphan behind thousands of payloads that are in use is deleted within days', async (t) => {
  const { broker, queues } = await startWithOrphans(t, 1);
  const [queue] = queues;
  assert.ok(queue);
  const used = Array.from({ length: 2500 }, (_, i) => `a${String(i).padStart(5, '0')}`);
  await queue.payloads.put(used);
  await queue.payloads.name(used);
  for (let day = 0; day < 5; day++) {
    goToDay(broker, day);
    await broker.sweep();
  }
  assert.deepEqual(await queue.payloads.names(), used);
  // The walk begins again from the start, so it also finds an orphan that sorts first.
  await queue.payloads.put(['0']);
  for (let day = 5; day < 10; day++) {
    goToDay(broker, day);
    await broker.sweep();
  }
  assert.deepEqual(await queue.payloads.names(), used);
});

/** Another process whose sweep pauses after a walk, the first or the second one, has listed the entities. */
async function pauseAfterList(t: TestContext, broker: TestBroker, walk: 1 | 2) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const sweeper = await startBroker(t, { beside: broker, client: pauses.client });
  let lists = 0;
  const listing = pauses.pauseNextAnswer(
    ({ command, collection }) =>
      command === 'QueryCommand' && collection === broker.namespace && ++lists === walk,
  );
  const swept = sweeper.sweep();
  await listing.reached;
  return async () => {
    listing.goOn();
    await swept;
  };
}

test('a walk does not forward by a ForwardTo that was removed after it had listed the queues', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('target'), 201);
  expectStatus(await broker.createQueue('q', { ForwardTo: 'target' }), 201);
  const goOn = await pauseAfterList(t, broker, 1);
  expectStatus(await broker.updateQueue('q'), 200);
  expectStatus(await broker.send('q', 'x'), 201);
  await goOn();
  assert.equal((await broker.peek('q')).length, 1);
});

test('a walk does not dead-letter by a MaxDeliveryCount that was raised after it had listed the queues', async (t) => {
  const short = { LockDuration: 'PT20S' };
  const queue = await startSessions(t, QUEUE, { ...short, MaxDeliveryCount: '1' });
  await queue.send('A', 'x');
  await lockOne(await queue.next());
  const goOn = await pauseAfterList(t, queue.broker, 2);
  await queue.update({ ...short, MaxDeliveryCount: '10' });
  queue.advance({ seconds: 20 });
  await goOn();
  assert.deepEqual(await drain(await queue.nextIs('A')), ['x']);
});

test('a run does not fail because a queue is deleted after a walk has listed it', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const at = { ScheduledEnqueueTimeUtc: new Date(START + 3_600_000).toUTCString() };
  expectStatus(await broker.send('q', 'x', at), 201);
  const goOn = await pauseAfterList(t, broker, 2);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  await goOn();
});
