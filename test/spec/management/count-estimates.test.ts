import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

const BATCH = 4500;
const IN_A_DAY = { ScheduledEnqueueTimeUtc: '2030-01-01T00:00:00Z' };
/** The most that an estimate may be wrong in these tests, as a share. */
const ERROR_MAX = 0.05;
const GAPS_ERROR_MAX = 0.15;

async function startQueue(t: TestContext, settings: Record<string, string> = {}) {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', settings), 201);
  return broker;
}

async function send(broker: TestBroker, count: number, properties: object = {}): Promise<void> {
  for (let left = count; left > 0; left -= BATCH) {
    const messages = Array.from({ length: Math.min(BATCH, left) }, (_, i) => ({
      Body: `${i}`,
      BrokerProperties: { ...properties },
    }));
    expectStatus(await broker.sendBatch('q', messages), 201);
  }
}

async function take(broker: TestBroker, count: number): Promise<void> {
  for (let left = count; left > 0; ) {
    left -= (await broker.receiveAndDeleteMany('q', Math.min(1000, left))).length;
  }
}

/** The counts of the queue, whether they are marked as estimates, and what they cost. */
async function look(t: TestContext, broker: TestBroker) {
  let isEstimate = false;
  const units = await broker.units(async () => {
    const { text } = await broker.request('GET', 'q');
    isEstimate = text.includes('<category scheme="urn:dynabus:counts" term="estimated"');
  });
  t.diagnostic(`${units.read} read units, ${units.requests} requests`);
  assert.equal(units.write, 0);
  return { ...(await broker.runtimeProperties('q')), isEstimate, units };
}

function requireNear(actual: number, expected: number, errorMax = ERROR_MAX): void {
  const share = Math.abs(actual - expected) / expected;
  assert.ok(share <= errorMax, `${actual} instead of ${expected}`);
}

test('up to ten thousand messages are counted one by one', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 9_000);
  await take(broker, 1_003);
  await send(broker, 2_000, IN_A_DAY);
  const { active, scheduled, isEstimate, units } = await look(t, broker);
  assert.deepEqual(
    { active, scheduled, isEstimate },
    { active: 7_997, scheduled: 2_000, isEstimate: false },
  );
  assert.ok(units.read <= 80, `${units.read} read units`);
});

test('more messages are estimated within five percent, for a few dozen units however many there are', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 27_000);
  const some = await look(t, broker);
  requireNear(some.active, 27_000);
  await send(broker, 45_000);
  const many = await look(t, broker);
  requireNear(many.active, 72_000);
  requireNear(many.size / many.active, some.size / some.active);
  assert.ok(some.isEstimate && many.isEstimate);
  for (const { units } of [some, many]) assert.ok(units.read <= 80, `${units.read} read units`);
  assert.ok(many.units.requests <= some.units.requests + 2);
});

test('estimates see what receivers have taken, and messages of all states', async (t) => {
  const broker = await startQueue(t);
  await send(broker, 18_000);
  await send(broker, 18_000, IN_A_DAY);
  await send(broker, 9_000);
  await take(broker, 7_000);
  const { active, scheduled, isEstimate } = await look(t, broker);
  requireNear(active, 20_000);
  requireNear(scheduled, 18_000);
  assert.ok(isEstimate);
});

test('messages with gaps between them are estimated by how dense they are', async (t) => {
  const broker = await startQueue(t);
  // Each call takes a part of its messages as scheduled ones, so the others have gaps in their numbers.
  for (let i = 0; i < 8; i++) {
    await send(broker, 4_500);
    await send(broker, 1_500, IN_A_DAY);
  }
  const { active, scheduled } = await look(t, broker);
  requireNear(active, 36_000, GAPS_ERROR_MAX);
  requireNear(scheduled, 12_000, GAPS_ERROR_MAX);
});

test('a partitioned queue is estimated over all its partitions', async (t) => {
  const broker = await startQueue(t, { EnablePartitioning: 'true' });
  const keys = Array.from({ length: 32 }, (_, i) => `k${i}`);
  for (let i = 0; i < 8; i++) {
    for (const PartitionKey of keys) {
      const messages = Array.from({ length: 100 }, () => ({
        Body: 'x',
        BrokerProperties: { PartitionKey },
      }));
      expectStatus(await broker.sendBatch('q', messages), 201);
    }
  }
  const { active, units } = await look(t, broker);
  requireNear(active, 25_600);
  assert.ok(units.read <= 400, `${units.read} read units`);
});

test('messages in sessions are counted one by one as far as a bounded read goes', async (t) => {
  const broker = await startQueue(t, { RequiresSession: 'true' });
  for (let i = 0; i < 6; i++) await send(broker, BATCH, { SessionId: `s${i % 3}` });
  const { active, isEstimate, units } = await look(t, broker);
  assert.deepEqual({ active, isEstimate }, { active: 27_000, isEstimate: false });
  assert.ok(units.read <= 60, `${units.read} read units`);
});

test('the size of a topic with many subscriptions is estimated from some of them', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.putEntity('t', 'TopicDescription', {}), 201);
  const subscribe = async (i: number) => {
    const path = `t/subscriptions/s${String(i).padStart(3, '0')}`;
    expectStatus(await broker.putEntity(path, 'SubscriptionDescription', {}), 201);
  };
  const look = async () => {
    let text = '';
    const { requests } = await broker.units(async () => {
      ({ text } = await broker.request('GET', 't'));
    });
    const [, size] = /<SizeInBytes>(\d+)</.exec(text) ?? [];
    const [, subscriptions] = /<SubscriptionCount>(\d+)</.exec(text) ?? [];
    const isEstimate = text.includes('term="estimated"');
    t.diagnostic(`${subscriptions} subscriptions: ${requests} requests`);
    return { size: Number(size), subscriptions: Number(subscriptions), isEstimate, requests };
  };
  for (let i = 0; i < 20; i++) await subscribe(i);
  const { requests, ...unused } = await look();
  assert.deepEqual(unused, { size: 0, subscriptions: 20, isEstimate: false });
  assert.ok(requests <= 4);
  expectStatus(await broker.send('t', 'x'.repeat(500)), 201);
  const few = await look();
  assert.ok(!few.isEstimate);
  for (let i = 20; i < 100; i++) await subscribe(i);
  for (let i = 0; i < 4; i++) expectStatus(await broker.send('t', 'x'.repeat(500)), 201);
  const many = await look();
  assert.ok(many.isEstimate);
  assert.equal(many.subscriptions, 100);
  // Those of the first twenty that got the first message, and four messages for all.
  requireNear(many.size, (20 + 4 * 100) * (few.size / 20), GAPS_ERROR_MAX);
  assert.ok(many.requests <= 110, `${many.requests} requests`);
});
