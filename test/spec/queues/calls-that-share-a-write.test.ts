import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BODY, ENTITY_BYTES, FILL, fill, LARGE } from '../../support/full-entity.ts';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { SMALL_ENTITIES } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createTopic,
  sql,
  subscription,
} from '../../support/topic-entities.ts';
import { bodies, instant, lock, startQueue } from './queue.ts';

/**
 * Calls at the same time: most of them arrive while the first ones are under way, and share a write with each other.
 * Each has the outcome that it has alone.
 */
async function atOnce<Result>(
  call: (number: number) => Promise<Result>,
): Promise<readonly Result[]> {
  return await Promise.all(NUMBERS.map(call));
}

const COUNT = 12;
const NUMBERS = Array.from({ length: COUNT }, (_, i) => i);
const TEXTS = NUMBERS.map(String);

async function bodiesLeft(broker: TestBroker, path = 'q'): Promise<readonly string[]> {
  return bodies(await broker.peek(path)).sort();
}

test('#B1 of sends at the same time, each that is refused is refused alone, and the others are stored once', async (t) => {
  const broker = await startQueue(t);
  const isBad = (i: number) => i % 4 === 1;
  const answers = await atOnce((i) =>
    broker.send('q', String(i), isBad(i) ? { MessageId: 'x'.repeat(129) } : {}),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    NUMBERS.map((i) => (isBad(i) ? 400 : 201)),
  );
  assert.deepEqual(await bodiesLeft(broker), TEXTS.filter((text) => !isBad(Number(text))).sort());
});

test('#77 of sends at the same time with one MessageId, one is stored, and all have its answer', async (t) => {
  const broker = await startQueue(t, { RequiresDuplicateDetection: 'true' });
  const numbers = await atOnce((i) =>
    broker.schedule('q', [
      {
        Body: String(i),
        BrokerProperties: {
          MessageId: i % 2 === 0 ? 'same' : `own ${i}`,
          ScheduledEnqueueTimeUtc: instant({ seconds: 60 }),
        },
      },
    ]),
  );
  const shared = numbers.filter((_, i) => i % 2 === 0).flat();
  assert.equal(new Set(shared).size, 1, 'a duplicate has the number of its original');
  assert.equal((await broker.peek('q')).length, 1 + COUNT / 2);
});

test('#P7 of sends at the same time to a partitioned queue, those with one key are in one partition', async (t) => {
  const broker = await startQueue(t, { EnablePartitioning: 'true' });
  await atOnce(async (i) =>
    expectStatus(await broker.send('q', String(i), { PartitionKey: `key ${i % 3}` }), 201),
  );
  const partitions = new Map<unknown, Set<bigint>>();
  for (const { broker: properties } of await broker.peek('q', { max: 100 })) {
    const key = properties['PartitionKey'];
    const known = partitions.get(key) ?? new Set();
    partitions.set(key, known.add(BigInt(properties.SequenceNumber) >> 48n));
  }
  assert.deepEqual(
    Array.from(partitions.values(), ({ size }) => size),
    [1, 1, 1],
  );
  assert.deepEqual(await bodiesLeft(broker), [...TEXTS].sort());
});

test('#64 of sends at the same time, those that are scheduled come due at their instants, and the others at once', async (t) => {
  const broker = await startQueue(t);
  const secondsOf = (i: number) => (i % 3) * 60;
  await atOnce(async (i) =>
    expectStatus(
      await broker.send(
        'q',
        String(i),
        secondsOf(i) === 0 ? {} : { ScheduledEnqueueTimeUtc: instant({ seconds: secondsOf(i) }) },
      ),
      201,
    ),
  );
  for (const seconds of [0, 60, 120]) {
    const got = bodies(await broker.receiveAndDeleteMany('q', 100)).sort();
    assert.deepEqual(got, TEXTS.filter((text) => secondsOf(Number(text)) === seconds).sort());
    broker.clock.advance({ seconds: 60 });
  }
});

test('#104 of sends at the same time to a topic that refuses messages without a match, only those are refused', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't', { FilteringMessagesBeforePublishing: 'true' });
  const path = subscription('s');
  await createRuledSubscription(broker, path, { red: { filter: sql("color = 'red'") } });
  const isRed = (i: number) => i % 3 === 0;
  const answers = await atOnce((i) =>
    broker.send('t', String(i), {}, { color: isRed(i) ? '"red"' : '"grey"' }),
  );
  assert.deepEqual(
    answers.map(({ status }) => status === 201),
    NUMBERS.map(isRed),
  );
  assert.deepEqual(
    await bodiesLeft(broker, path),
    TEXTS.filter((text) => isRed(Number(text))).sort(),
  );
});

test('#B1 if the write of a group is throttled, each of its sends is refused as retryable, and none is stored', async (t) => {
  let isThrottled = false;
  const client = hookedClient(({ command }) => {
    if (isThrottled && command === 'UpdateItemCommand') throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await broker.send('q', 'before'), 201);
  isThrottled = true;
  const answers = await atOnce((i) => broker.send('q', String(i)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([503]));
  assert.deepEqual(await bodiesLeft(broker), ['before']);
});

test('#123 of sends at the same time that are forwarded to an almost full queue, as many are stored as fit one by one', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium', limits: SMALL_ENTITIES });
  expectStatus(await broker.createQueue('target', LARGE), 201);
  await fill(broker, 'target');
  expectStatus(await broker.createQueue('q', { ...LARGE, ForwardTo: 'target' }), 201);
  const fitting = COUNT - 4;
  const bytes = (ENTITY_BYTES - FILL * BODY.length) / (fitting + 1);
  const answers = await atOnce(() => broker.send('q', Buffer.alloc(bytes, 'x')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  const { Active: stored = 0 } = await counts(broker, 'target');
  const { TransferDeadLetter: refused = 0 } = await counts(broker, 'q');
  assert.ok(stored - FILL >= fitting, `${stored - FILL} of ${COUNT} were stored`);
  assert.equal(stored - FILL + refused, COUNT);
});

test('#B7 receives at the same time get different messages, and the queue is empty for the others', async (t) => {
  const broker = await startQueue(t, {}, ...TEXTS.slice(0, COUNT - 4));
  const got = await atOnce(() => broker.peekLock('q'));
  const texts = got.flatMap((message) => (message === undefined ? [] : [message.body]));
  assert.deepEqual([...texts].sort(), TEXTS.slice(0, COUNT - 4).sort());
  assert.deepEqual(new Set(got.map((one) => one?.broker.DeliveryCount)), new Set([1, undefined]));
});

test('#1 receives and deletes at the same time get different messages', async (t) => {
  const broker = await startQueue(t, {}, ...TEXTS);
  const got = await atOnce((i) => broker.receiveAndDeleteMany('q', 1 + (i % 3)));
  assert.deepEqual(bodies(got.flat()).sort(), [...TEXTS].sort());
  assert.ok(got.every((messages, i) => messages.length <= 1 + (i % 3)));
});

test('#5 of completes at the same time, those under a lost lock are refused, and the others settle', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, ...TEXTS);
  const old = await lock(broker);
  broker.clock.advance({ seconds: 31 });
  const held: Received[] = [];
  for (let i = 0; i < COUNT; i++) held.push(await lock(broker));
  const statuses = await atOnce((i) => broker.complete(i % 3 === 1 ? old : (held[i] ?? old)));
  assert.deepEqual(
    statuses,
    NUMBERS.map((i) => (i % 3 === 1 ? 404 : 200)),
  );
  assert.deepEqual(await bodiesLeft(broker), TEXTS.filter((_, i) => i % 3 === 1).sort());
});

test('#5 if the database fails all completes at the same time, those under a lost lock are refused as such', async (t) => {
  let isThrottled = false;
  const client = hookedClient(({ command }) => {
    if (isThrottled && command !== 'GetItemCommand') throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  expectStatus(await broker.createQueue('q'), 201);
  for (const text of TEXTS) expectStatus(await broker.send('q', text), 201);
  const held: Received[] = [];
  for (let i = 0; i < COUNT; i++) held.push(await lock(broker));
  const isLost = (i: number) => i % 3 === 2;
  const unknown = (message: Received): Received => ({
    ...message,
    location: (message.location ?? '').replace(/[^/]*$/, '00000000-0000-0000-0000-000000000000'),
  });
  isThrottled = true;
  const statuses = await atOnce(async (i) => {
    const message = held[i];
    assert.ok(message !== undefined);
    return await broker.complete(isLost(i) ? unknown(message) : message);
  });
  assert.deepEqual(
    statuses,
    NUMBERS.map((i) => (isLost(i) ? 404 : 503)),
  );
});

test('#5 of completes of one message at the same time, one settles it', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  const message = await lock(broker);
  const statuses = await atOnce(() => broker.complete(message));
  assert.deepEqual(statuses.filter((status) => status === 200).length, 1);
  assert.deepEqual(statuses.filter((status) => status === 404).length, COUNT - 1);
  assert.deepEqual(await bodiesLeft(broker), ['b']);
});

test('#7 renewals at the same time renew their own locks, and those of lost locks are refused', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT30S' }, ...TEXTS);
  const held: Received[] = [];
  for (let i = 0; i < COUNT; i++) held.push(await lock(broker));
  const [first, second] = held;
  assert.ok(first && second);
  assert.equal(await broker.complete(first), 200);
  broker.clock.advance({ seconds: 20 });
  const statuses = await atOnce(async (i) => (await broker.renew(held[i] ?? first)).status);
  assert.deepEqual(
    statuses,
    NUMBERS.map((i) => (i === 0 ? 404 : 200)),
  );
  broker.clock.advance({ seconds: 20 });
  assert.equal(await broker.complete(second), 200);
});
