import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerDependencies } from '../../shared/broker/dependencies.ts';
import type { LogBatch } from '../../shared/broker/ports/publication.ts';
import { withCopyAccount } from '../../shared/broker/routing/copy-account.ts';
import { matchArriving } from '../../shared/broker/routing/match-subscriptions.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import {
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { WorkTurns } from '../../shared/domain/turns/work-turns.ts';
import { cutChunks } from '../../shared/storage/fan-out/layout-chunks.ts';
import type { StoreContext } from '../../shared/storage/store-context.ts';
import { fakeEntity } from '../support/http-fixture.ts';
import { partitionClient } from '../support/partition-faults.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { counts, createSubscription, createTopic } from '../support/topic-entities.ts';

/** Row 22: a small batch to a topic becomes very many copies, which count in memory and take turns. */

const { copyBytes: COPY_BYTES } = BUDGETS.weights;
const SUBSCRIPTIONS = 12;

const PARTITIONS = 16;

async function createSubscriptions(bus: TestBroker, topic = {}, settings = {}): Promise<void> {
  await createTopic(bus, 't', topic);
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    await createSubscription(bus, `t/subscriptions/s${i}`, settings);
  }
}

const sessionsOf = (messages: number) =>
  Array.from({ length: messages }, (_, i) => ({
    Body: '',
    BrokerProperties: { SessionId: `${i % 20}` },
  }));
const batchOf = (messages: number) => Array.from({ length: messages }, () => ({ Body: '' }));

test('row 22: the copies of a send count until the send ends', async () => {
  const topic = { ...fakeEntity('t'), description: TOPIC_DEFAULTS };
  const entity = { ...fakeEntity('t/s'), description: SUBSCRIPTION_DEFAULTS };
  const rule = { name: 'all', filter: { kind: 'true' }, createdAt: 0 } as const;
  const subscribed = Array.from({ length: 10 }, () => ({ entity, rules: [rule] }));
  const memory = new MemoryBudget(250 * COPY_BYTES);
  const dependencies = {
    memory,
    subscriptions: { of: async () => subscribed },
    clock: { now: () => 0 },
    monotonicNow: () => 0,
  } as unknown as BrokerDependencies;
  const message = { messageId: 'x', body: new Uint8Array(), properties: {} };
  const send = (count: number, meanwhile: () => Promise<void>) =>
    withCopyAccount(dependencies, async (counting) => {
      await matchArriving(counting, topic, Array(count).fill(message), 'sent');
      await meanwhile();
    });
  const isRefused = (code: string) => (error: unknown) =>
    error instanceof BrokerError && error.code === code;
  await send(10, async () => {
    assert.equal(memory.held, 100 * COPY_BYTES);
    await send(12, async () => {
      assert.equal(memory.held, 220 * COPY_BYTES);
      await assert.rejects(
        send(4, async () => {}),
        isRefused('ServiceBusy'),
      );
      await send(3, async () => assert.equal(memory.held, 250 * COPY_BYTES));
    });
    assert.equal(memory.held, 100 * COPY_BYTES);
  });
  await assert.rejects(
    send(13, async () => {}),
    isRefused('MessageSizeExceeded'),
  );
  assert.equal(memory.held, 0);
});

test('row 22: a batch with more copies than fit into memory is refused, and nothing is stored', async (t) => {
  const bus = await startBroker(t, { memoryBytes: 600 * SUBSCRIPTIONS * COPY_BYTES });
  await createSubscriptions(bus);
  const refused = await bus.sendBatch('t', batchOf(301));
  expectStatus(refused, 403);
  assert.match(refused.text, /more copies than the service has memory for/);
  assert.deepEqual(await bus.peek('t/subscriptions/s0'), []);
  expectStatus(await bus.sendBatch('t', batchOf(200)), 201);
  assert.equal((await bus.peek('t/subscriptions/s0')).length, 200);
});

test('row 22: a batch of scheduled and other messages counts once', async (t) => {
  const bus = await startBroker(t, { memoryBytes: 600 * SUBSCRIPTIONS * COPY_BYTES });
  await createSubscriptions(bus);
  const scheduled = {
    Body: '',
    BrokerProperties: { ScheduledEnqueueTimeUtc: '2100-01-01T00:00:00Z' },
  };
  expectStatus(await bus.sendBatch('t', [...batchOf(200), scheduled]), 201);
  assert.equal((await bus.peek('t/subscriptions/s0')).length, 200);
  const refused = await bus.sendBatch('t', [...batchOf(301), scheduled]);
  expectStatus(refused, 403);
  assert.match(refused.text, /more copies than the service has memory for/);
  assert.equal((await counts(bus, 't'))['Scheduled'], 1);
});

test('row 22: a batch counts once, however many partitions the send tries', async (t) => {
  const { client, close } = partitionClient();
  const bus = await startBroker(t, {
    client,
    memoryBytes: 600 * SUBSCRIPTIONS * COPY_BYTES,
  });
  await createSubscriptions(bus, { EnablePartitioning: 'true' });
  close([3]);
  for (let sent = 0; sent < PARTITIONS; sent++) {
    expectStatus(await bus.sendBatch('t', batchOf(200)), 201);
  }
});

test('row 22: all steps of one send take turns as one peer', async (t) => {
  const bus = await startBroker(t);
  await createSubscriptions(bus, {}, { RequiresSession: 'true' });
  const next = t.mock.method(WorkTurns.prototype, 'next');
  expectStatus(await bus.sendBatch('t', sessionsOf(120)), 201);
  const peers = next.mock.calls.map(({ arguments: [peer] }) => peer);
  assert.ok(peers.length >= 4 * SUBSCRIPTIONS, `${peers.length} steps`);
  // One peer each for the request, the routing and the storing.
  assert.equal(new Set(peers).size, 3);
  assert.ok(!peers.includes(undefined));
});

test('row 22: cutting a publication into chunks takes a turn for each subscription', async () => {
  let turns = 0;
  const workTurns = {
    next: async () => {
      turns++;
    },
  };
  const context = { workTurns } as unknown as StoreContext;
  const message = { messageId: 'x', body: new Uint8Array(), properties: {} };
  const copies = Array.from({ length: 100 }, (_, i) => ({ sequence: BigInt(i), message }));
  const to = { entityId: 'e' } as unknown as LogBatch['to'];
  const batches = Array.from({ length: SUBSCRIPTIONS }, () => ({ to, copies }));
  const chunks = await cutChunks(context, batches, {});
  assert.deepEqual(
    chunks.map(({ portions }) => portions.length),
    [SUBSCRIPTIONS, SUBSCRIPTIONS, SUBSCRIPTIONS],
  );
  assert.equal(turns, 2 * SUBSCRIPTIONS);
});
