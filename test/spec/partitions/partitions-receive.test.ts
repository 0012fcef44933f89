import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { partitionClient } from '../../support/partition-faults.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { isoInstant, settleOne } from '../queues/queue.ts';
import {
  byPartition,
  createPartitioned,
  drain,
  fillByBatches,
  fillEach,
  keysByPartition,
  numberInPartition,
  PARTITIONS,
  partitionOf,
  peekAll,
  sendKeyed,
  startPartitioned,
} from './partitioned.ts';

const DEAD = 'p/$deadletterqueue';
const LONG = 60;
/** Messages in each partition, and batches that fill more than one answer. */
const SIZES = isMore()
  ? { sent: 2, repeated: 5, concurrent: 6, batches: 16 }
  : { sent: 1, repeated: 3, concurrent: 3, batches: 8 };

/** Two processes without shared memory, with the partitioned queue `p`. */
async function startTwo(t: TestContext): Promise<readonly [TestBroker, TestBroker]> {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await createPartitioned(here, 'p'), 201);
  return [here, there];
}

test('#P3 #P13 a receive without a wait finds a message in any partition', async (t) => {
  const [here, there] = await startTwo(t);
  const seen = new Set<number>();
  for (let i = 0; i < SIZES.sent * PARTITIONS; i++) {
    await sendKeyed(here, `${i}`);
    const message = await there.receiveAndDelete('p');
    assert.equal(message?.body, `${i}`);
    seen.add(partitionOf(message));
  }
  assert.equal(seen.size, PARTITIONS);
});

test('#P3 #P13 repeated receives return the messages of all partitions, each once', async (t) => {
  const [here, there] = await startTwo(t);
  const sent = SIZES.repeated * PARTITIONS;
  await fillEach(here, 'p', sent);
  for (const [max, count] of [
    [1, 7],
    [3, 20],
  ] as const) {
    for (let taken = 0; taken < count; ) {
      const some = await there.receiveAndDeleteMany('p', max);
      assert.ok(some.length > 0 && some.length <= max, `${some.length} of ${max}`);
      taken += some.length;
      assert.deepEqual(some.length > 0, true);
    }
  }
  const rest = await drain(there);
  assert.ok(rest.length <= sent - 27 && rest.length >= sent - 29);
  assert.deepEqual(await peekAll(here), []);
});

test('#P3 a receive locks no more messages than it returns', async (t) => {
  const [here, there] = await startTwo(t);
  await fillEach(here, 'p', 3 * PARTITIONS);
  const locked: string[] = [];
  for (const max of [1, 2, 5, 1, 7, 3]) {
    const some = await there.peekLockMany('p', max);
    assert.ok(some.length > 0 && some.length <= max);
    locked.push(...some.map(({ broker: { MessageId } }) => MessageId));
  }
  const rest = await drain(here);
  assert.equal(rest.length, 3 * PARTITIONS - locked.length);
  assert.equal(new Set(locked).size, locked.length);
  assert.ok(rest.every(({ broker: { MessageId } }) => !locked.includes(MessageId)));
});

test('#P3 concurrent receivers get each message once', async (t) => {
  const [here, there] = await startTwo(t);
  const sent = SIZES.concurrent * PARTITIONS;
  await fillEach(here, 'p', sent);
  const taken: string[] = [];
  const work = async (broker: TestBroker, max: number) => {
    for (let empty = 0; empty < 3; ) {
      const some = await broker.receiveAndDeleteMany('p', max);
      assert.ok(some.length <= max);
      if (some.length === 0) empty++;
      taken.push(...some.map(({ body }) => body));
    }
  };
  await Promise.all([1, 2, 3, 5].flatMap((max) => [work(here, max), work(there, max)]));
  taken.push(...(await drain(here)).map(({ body }) => body));
  assert.equal(taken.length, sent);
  assert.equal(new Set(taken).size, sent);
});

test('#P3 an answer with messages of several partitions stays within its size limit', async (t) => {
  const broker = await startPartitioned(t);
  expectStatus(await broker.sendBatch('p', [{ Body: 'x'.repeat(900 * 1024) }]), 403);
  // The first five batches fill an answer, and the others need a second one.
  const { batches } = SIZES;
  for (let i = 0; i < batches; i++) {
    const bodies = Array.from({ length: 4 }, () => ({ Body: 'x'.repeat(200 * 1024) }));
    expectStatus(await broker.sendBatch('p', bodies), 201);
  }
  let left = 4 * batches;
  while (left > 0) {
    const some = await broker.receiveAndDeleteMany('p', 100);
    const bytes = some.reduce((sum, { body }) => sum + body.length, 0);
    assert.ok(some.length > 0 && bytes <= 3 * 1024 * 1024, `${bytes} bytes`);
    left -= some.length;
  }
});

test('#P3 a partition that always has messages does not starve the others', async (t) => {
  const [here, there] = await startTwo(t);
  const [busy = '', quiet = ''] = await keysByPartition(here);
  // This process begins its next receives at the partition in which it found messages.
  await sendKeyed(here, 'busy', { PartitionKey: busy });
  assert.equal((await there.receiveAndDelete('p'))?.body, 'busy');
  await sendKeyed(here, 'quiet', { PartitionKey: quiet });
  const found: (string | undefined)[] = [];
  // A busy receive also reads one partition that this process has not read for 2 s.
  for (let ms = 0; !found.includes('quiet') && ms < 60_000; ms += 100) {
    there.time.skip(100);
    await sendKeyed(here, 'busy', { PartitionKey: busy });
    found.push((await there.receiveAndDelete('p'))?.body);
  }
  assert.ok(found.includes('quiet'), `${found.length} receives`);
});

test('#P3 partitions that all have messages are read about equally often', async (t) => {
  const broker = await startPartitioned(t, {}, { seed: 'fair' });
  await fillByBatches(broker, 20);
  const counts = new Map<number, number>();
  for (let i = 0; i < 10 * PARTITIONS; i++) {
    const message = await broker.receiveAndDelete('p');
    assert.ok(message);
    counts.set(partitionOf(message), (counts.get(partitionOf(message)) ?? 0) + 1);
  }
  assert.equal(counts.size, PARTITIONS);
  assert.ok(Math.max(...counts.values()) <= 20);
});

test('#P3 a waiting receive is woken by a message in any partition', async (t) => {
  const broker = await startPartitioned(t);
  for (let i = 0; i < PARTITIONS; i++) {
    const waiting = broker.receiveAndDelete('p', LONG);
    assert.equal(await broker.peekLock('p'), undefined);
    const startedAt = performance.now();
    await sendKeyed(broker, `${i}`);
    assert.equal((await waiting)?.body, `${i}`);
    assert.ok(performance.now() - startedAt < 2000);
  }
});

test('#P3 a waiting receive finds a message of another process in any partition within seconds', async (t) => {
  const [here, there] = await startTwo(t);
  const keys = await keysByPartition(here);
  await Promise.all(
    [0, 5, 10, 15].map(async (partition) => {
      const waiting = there.receiveAndDelete('p', LONG);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const startedAt = performance.now();
      await sendKeyed(here, 'x', { PartitionKey: keys[partition] });
      assert.ok(await waiting);
      const waitedMs = performance.now() - startedAt;
      assert.ok(waitedMs < 10_000, `${waitedMs} ms`);
    }),
  );
});

test('#P3 a waiting receive reads only some partitions each time it polls', async (t) => {
  const { client, requests } = partitionClient();
  t.after(() => client.destroy());
  const broker = await startPartitioned(t, {}, { client });
  // The first receive also reads the due times of scheduled messages.
  assert.equal(await broker.receiveAndDelete('p', 0), undefined);
  requests();
  assert.equal(await broker.receiveAndDelete('p', 0), undefined);
  assert.equal(sum(requests()), PARTITIONS);
  assert.equal(await broker.receiveAndDelete('p', 3), undefined);
  const waiting = requests();
  assert.equal(waiting.size, PARTITIONS);
  // All partitions first and last, and five to seven polls in between of four partitions each. A due time is cached
  // for a second, so in three seconds the polls also read each partition's header up to twice.
  const headers = 2 * PARTITIONS;
  assert.ok(sum(waiting) <= 2 * PARTITIONS + 7 * 4 + headers, `${sum(waiting)} requests`);
});

function sum(counts: ReadonlyMap<number, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

test('#P14 a peek returns messages in the order of their sequence numbers, partition by partition', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker, 'p', 3 * PARTITIONS);
  const numbers = (await broker.peek('p')).map(({ broker: { SequenceNumber } }) => SequenceNumber);
  assert.equal(numbers.length, 3 * PARTITIONS);
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  const middle = 7 * 2 ** 48 + 2;
  const from = await broker.peek('p', { from: middle, max: 4 });
  assert.deepEqual(
    from.map((message) => [partitionOf(message), numberInPartition(message)]),
    [
      [7, 2],
      [7, 3],
      [8, 1],
      [8, 2],
    ],
  );
  assert.deepEqual(await broker.peek('p', { from: 15 * 2 ** 48 + 4 }), []);
  assert.deepEqual(await broker.peek('p', { from: 16 * 2 ** 48 }), []);
});

test('#P14 a peek may return fewer messages than requested, and repeated peeks return each message once', async (t) => {
  const broker = await startPartitioned(t);
  for (let i = 0; i < PARTITIONS; i++) {
    const bodies = Array.from({ length: 4 }, (_, k) => ({ Body: `${i}.${k}`.padEnd(50 * 1024) }));
    expectStatus(await broker.sendBatch('p', bodies), 201);
  }
  assert.ok((await broker.peek('p', { max: 64 })).length < 8);
  const shown = await peekAll(broker);
  assert.equal(new Set(shown.map(({ body }) => body)).size, 4 * PARTITIONS);
  assert.equal(shown.length, 4 * PARTITIONS);
});

test('#P1 messages of all partitions are delivered again when their locks expire, and then dead-lettered', async (t) => {
  const broker = await startPartitioned(t, { MaxDeliveryCount: '2' });
  await fillEach(broker);
  for (let delivery = 1; delivery <= 2; delivery++) {
    let locked = 0;
    while (locked < PARTITIONS) {
      const some = await broker.peekLockMany('p', PARTITIONS);
      assert.ok(some.every(({ broker: { DeliveryCount } }) => DeliveryCount === delivery));
      assert.ok(some.length > 0);
      locked += some.length;
    }
    broker.clock.advance({ minutes: 1 });
  }
  // No client receives from the queue: the receive of the dead letters finds the lapsed ones itself.
  const dead = await drain(broker, DEAD);
  assert.equal(dead.length, PARTITIONS);
  assert.equal(byPartition(dead).size, PARTITIONS);
  assert.deepEqual(await drain(broker), []);
});

test('#P1 scheduled messages come due in their own partitions', async (t) => {
  const broker = await startPartitioned(t);
  const at = (seconds: number) => ({ ScheduledEnqueueTimeUtc: isoInstant({ seconds }) });
  for (let i = 0; i < PARTITIONS; i++) await sendKeyed(broker, `${i}`, at(60));
  const [cancelled] = await broker.schedule('p', [{ Body: 'never', BrokerProperties: at(60) }]);
  assert.ok(cancelled !== undefined);
  const before = new Map((await peekAll(broker)).map((one) => [one.body, partitionOf(one)]));
  expectStatus(await broker.cancelScheduled('p', [cancelled]), 200);
  assert.deepEqual(await drain(broker), []);
  broker.clock.advance({ seconds: 60 });
  const received = await drain(broker);
  assert.equal(received.length, PARTITIONS);
  for (const one of received) assert.equal(partitionOf(one), before.get(one.body));
});

test('#P1 the sweep activates scheduled messages of all partitions', async (t) => {
  const broker = await startPartitioned(t);
  const waiting = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
  for (let i = 0; i < PARTITIONS; i++) await sendKeyed(broker, `${i}`, waiting);
  broker.clock.advance({ seconds: 70 });
  await broker.sweep();
  const states = (await peekAll(broker)).map(({ broker: { State } }) => State);
  assert.deepEqual(states, Array(PARTITIONS).fill('Active'));
});

test('#P1 an abandoned message is delivered again from the same partition', async (t) => {
  const broker = await startPartitioned(t);
  await fillEach(broker);
  const [first] = await broker.peekLockMany('p', 1);
  assert.ok(first);
  await settleOne(broker, first, 'abandon', {}, 'p');
  const rest = await drain(broker);
  const again = rest.find(({ body }) => body === first.body);
  assert.equal(again?.broker.SequenceNumber, first.broker.SequenceNumber);
});
