import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import {
  type CollectionLoad,
  CollectionUnits,
  secondsFor,
} from '../../support/collection-units.ts';
import { engineClient, type StartOptions, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { settlementOf } from '../queues/queue.ts';
import {
  createPartitioned,
  drain,
  fillEach,
  PARTITIONED,
  PARTITIONS,
  startPartitioned,
} from './partitioned.ts';

/** A plain queue `q` and a partitioned queue `p`, both cached by the process. */
async function startBoth(t: TestContext, options: StartOptions = {}): Promise<TestBroker> {
  const broker = await startPartitioned(t, {}, options);
  expectStatus(await broker.createQueue('q'), 201);
  await fillEach(broker, 'p');
  await fillEach(broker, 'q', 1);
  for (const path of ['p', 'q']) await drain(broker, path);
  return broker;
}

const SMALL = Array.from({ length: 100 }, (_, i) => ({ Body: `order ${i} `.padEnd(200, `${i}`) }));

test('#P4 a send to a partitioned queue costs the same as to a plain queue', async (t) => {
  const broker = await startBoth(t);
  const sends: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => broker.send(path, 'x'),
    (path) => broker.send(path, 'x', { PartitionKey: 'a' }),
    (path) => broker.sendBatch(path, SMALL),
    (path) => broker.send(path, Buffer.alloc(20_000, Math.random().toString(36))),
  ];
  for (const send of sends) {
    assert.deepEqual(await broker.units(() => send('p')), await broker.units(() => send('q')));
  }
});

test('#P4 a receive from a busy partitioned queue writes the same as from a plain queue, and reads at most one partition more', async (t) => {
  const broker = await startBoth(t);
  for (const path of ['p', 'q']) {
    for (let i = 0; i < PARTITIONS; i++) expectStatus(await broker.sendBatch(path, SMALL), 201);
  }
  for (const max of [100, 1]) {
    // What the process remembers of the last scan would save a read.
    broker.time.skip(250);
    const plain = await broker.units(() => broker.peekLockMany('q', max));
    const partitioned = await broker.units(() => broker.peekLockMany('p', max));
    t.diagnostic(`${max}: ${JSON.stringify({ plain, partitioned })}`);
    assert.equal(partitioned.write, plain.write);
    // One partition more, and the header of one that was not read yet.
    assert.ok(partitioned.requests <= plain.requests + 4);
    assert.ok(partitioned.roundTrips <= plain.roundTrips + 1);
  }
});

test('#P4 sending, receiving and completing through a partitioned queue costs as many write units as through a plain one', async (t) => {
  const broker = await startBoth(t);
  const pass = async (path: string) => {
    for (let i = 0; i < PARTITIONS; i++) expectStatus(await broker.sendBatch(path, SMALL), 201);
    for (let left = PARTITIONS * SMALL.length; left > 0; ) {
      const locked = await broker.peekLockMany(path, 100);
      assert.ok(locked.length > 0);
      const settlements = locked.map((message) => settlementOf(message, 'complete'));
      const outcomes = await broker.settle(path, settlements);
      assert.ok(outcomes.every(({ settled }) => settled));
      left -= locked.length;
    }
  };
  const plain = await broker.units(() => pass('q'));
  const partitioned = await broker.units(() => pass('p'));
  t.diagnostic(JSON.stringify({ plain, partitioned }));
  assert.ok(partitioned.write <= plain.write * 1.01);
  assert.ok(partitioned.read <= plain.read * 1.5 + 2 * PARTITIONS);
});

test('#P4 a receive that finds no message reads each partition once', async (t) => {
  const broker = await startBoth(t);
  assert.equal(await broker.peekLock('p'), undefined);
  const plain = await broker.units(() => broker.peekLock('q'));
  const partitioned = await broker.units(() => broker.peekLock('p'));
  t.diagnostic(JSON.stringify({ plain, partitioned }));
  assert.equal(partitioned.write, 0);
  // In requests, since not every engine reports the read unit of a query that finds nothing.
  // On a slow machine the cached due times expire and are read again.
  assert.ok(partitioned.requests <= (plain.requests + 1) * PARTITIONS);
  assert.ok(partitioned.roundTrips <= plain.roundTrips * 4);
});

test('#P4 a waiting receive costs four partitions each time it polls', async (t) => {
  const broker = await startBoth(t);
  const plain = await broker.units(() => broker.peekLock('q', 3));
  const partitioned = await broker.units(() => broker.peekLock('p', 3));
  t.diagnostic(JSON.stringify({ plain, partitioned }));
  assert.equal(partitioned.write, 0);
  // Four partitions for each poll of a plain queue; all of them first and last, twice if the process has a hint that
  // messages were there. A due time is cached for a second, so each header is read up to twice more in three seconds.
  const headers = 2 * PARTITIONS;
  assert.ok(partitioned.requests <= 4 * plain.requests + 4 * PARTITIONS + headers);
});

test('#P4 #P11 a body that is forwarded to a partitioned topic is stored once for all of its subscriptions', async (t) => {
  const broker = await startBroker(t);
  const writes: number[] = [];
  for (const [topic, settings] of Object.entries({ plain: {}, partitioned: PARTITIONED })) {
    await createTopic(broker, topic, settings);
    for (const name of ['a', 'b', 'c']) await createSubscription(broker, subscription(name, topic));
    expectStatus(await broker.createQueue(`to-${topic}`, { ForwardTo: topic }), 201);
    const batch = Array.from({ length: 30 }, (_, i) => ({
      Body: randomBytes(500).toString('base64'),
      BrokerProperties: { PartitionKey: i % 2 === 0 ? 'a' : 'b' },
    }));
    const { write } = await broker.units(() => broker.sendBatch(`to-${topic}`, batch));
    writes.push(write);
  }
  const [plain = 0, partitioned = 0] = writes;
  t.diagnostic(`${plain}, ${partitioned}`);
  // One more counter, a block for each subscription and the references; but no second copy of the bodies.
  assert.ok(partitioned <= plain + 1 + 3 * 2 + 1 + 1, `${plain}, ${partitioned}`);
});

/** Sends of one message each, and messages of a receive: as many as each partition gets. */
const SINGLES = isMore() ? { calls: 160, max: 10 } : { calls: 64, max: 4 };

/** The load of each item collection while a queue takes this many sends and is drained. */
async function loadsOf(
  broker: TestBroker,
  units: CollectionUnits,
  path: string,
  { calls, send, max }: { calls: number; send: (path: string) => Promise<unknown>; max: number },
): Promise<ReadonlyMap<string, CollectionLoad>> {
  units.take();
  for (let call = 0; call < calls; call++) await send(path);
  for (;;) {
    const locked = await broker.peekLockMany(path, max);
    if (locked.length === 0) break;
    await broker.settle(
      path,
      locked.map((message) => settlementOf(message, 'complete')),
    );
  }
  await broker.units(async () => {});
  return units.take();
}

test('#P1 #P4 sixteen partitions reach at least fourteen times the throughput of one before DynamoDB throttles', async (t) => {
  const client = engineClient();
  t.after(() => client.destroy());
  const units = new CollectionUnits(client);
  const broker = await startBroker(t, { client });
  expectStatus(await createPartitioned(broker, 'p'), 201);
  expectStatus(await broker.createQueue('q'), 201);
  const works = [
    { ...SINGLES, send: (path: string) => broker.send(path, 'x') },
    { calls: isMore() ? 32 : 16, max: 100, send: (path: string) => broker.sendBatch(path, SMALL) },
  ];
  for (const work of works) {
    const plain = await loadsOf(broker, units, 'q', work);
    const partitioned = await loadsOf(broker, units, 'p', work);
    const ratio = secondsFor(plain) / secondsFor(partitioned);
    t.diagnostic(`throughput × ${ratio.toFixed(1)}; ${writes(plain)}, ${writes(partitioned)}`);
    assert.ok(ratio >= 14, `throughput × ${ratio}`);
    assert.ok(writes(partitioned) <= writes(plain) * 1.01);
  }
});

function writes(loads: ReadonlyMap<string, CollectionLoad>): number {
  return [...loads.values()].reduce((sum, { write }) => sum + write, 0);
}
