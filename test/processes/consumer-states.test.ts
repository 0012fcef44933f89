import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { realRandom } from '../../shared/app/real-random.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { ConsumerReference, ConsumerState } from '../../shared/push/ports.ts';
import { wakeConsumer } from '../../shared/push/wake-consumer.ts';
import { DynamoConsumerStates } from '../../shared/storage/consumers/consumer-states.ts';
import { DocumentTable, documentClientOf } from '../../shared/storage/dynamodb/document-table.ts';
import { ANY_TARGET, putConsumer } from '../support/consumers.ts';
import { engineClient, startBroker, TABLES } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';

/** The states of consumers on an engine: who owns a consumer, and what its owners tell each other. */

const UNTIL = 1_000_000;

/** A consumer that is managed, and its states. */
async function start(t: TestContext) {
  const client = engineClient();
  t.after(() => client.destroy());
  const broker = await startBroker(t, { push: ANY_TARGET });
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await putConsumer(broker, 'q/consumers/c'), 201);
  const table = new DocumentTable(documentClientOf(client), TABLES.entities, {
    scheduler: realScheduler,
    random: realRandom,
    meter: undefined,
    transactionItems: undefined,
  });
  const states = new DynamoConsumerStates(table, broker.namespace);
  const entity = await table.get({ pk: broker.namespace, sk: 'e/q' });
  const entityId = String(entity?.['id']);
  const of: ConsumerReference = { entityId, entityKey: 'q', consumer: 'main/c' };
  const read = async () => {
    const state = await states.read(of);
    assert.ok(state);
    return state;
  };
  const take = async (owner: string, seen: ConsumerState, earlier = {}) =>
    await states.take(of, { owner, until: UNTIL, calls: 4 }, seen, earlier);
  return { broker, states, of, read, take };
}

test('a state comes and goes with its consumer', async (t) => {
  const { broker, states, of, read } = await start(t);
  assert.deepEqual(await read(), { earlier: {}, isWoken: false });
  assert.deepEqual(await states.consumersOf(of.entityId), [
    { of, state: { earlier: {}, isWoken: false } },
  ]);
  expectStatus(await putConsumer(broker, 'q/consumers/c', { maxBatch: 2 }), 200);
  assert.ok(await read());
  expectStatus(await broker.request('DELETE', 'q/consumers/c'), 200);
  assert.equal(await states.read(of), undefined);
});

test('one of two takes the lease, and the other one only after it is seen to have ended', async (t) => {
  const { states, of, read, take } = await start(t);
  const free = await read();
  assert.equal(await take('a', free), true);
  assert.equal(await take('b', free), false);
  const held = await read();
  assert.deepEqual(held.lease, { owner: 'a', until: UNTIL, calls: 4 });
  assert.equal(await take('a', free), true, 'an earlier try of the same write took it');
  // Whoever saw it end takes it over, and the first owner has lost it.
  assert.equal(await take('b', held, { a: { calls: 4, until: UNTIL + 1 } }), true);
  assert.equal(await take('c', held), false);
  const lease = { owner: 'a', until: UNTIL, calls: 1 };
  assert.equal(await states.renew(of, lease, undefined), undefined);
  assert.equal(await states.release(of, 'a', {}), 'lost');
  assert.equal((await read()).lease?.owner, 'b');
});

test('a renewal tells of calls of former owners, which end', async (t) => {
  const { states, of, read, take } = await start(t);
  const earlier = { a: { calls: 4, until: UNTIL } };
  await take('b', await read(), earlier);
  const fault = { at: 1, error: 'No.' };
  const lease = { owner: 'b', until: UNTIL + 1, calls: 8 };
  const renewed = await states.renew(of, lease, fault);
  assert.deepEqual(renewed, { lease, earlier, isWoken: false, fault });
  await states.endEarlier(of, 'a');
  await states.endEarlier(of, 'a');
  assert.deepEqual((await read()).earlier, {});
  assert.equal((await states.renew(of, lease, undefined))?.fault, undefined);
});

test('a release keeps what the next owner must know', async (t) => {
  const { states, of, read, take } = await start(t);
  await take('a', await read());
  const released = {
    pause: { until: 5, tries: 2 },
    rate: { messages: 0.5, at: 3 },
    fault: { at: 1, error: 'No.' },
    earlier: { calls: 2, until: 7 },
  };
  assert.equal(await states.release(of, 'a', released), 'released');
  const { earlier, ...kept } = released;
  assert.deepEqual(await read(), { ...kept, earlier: { a: earlier }, isWoken: false });
  // The next one begins without the pause, and without the fault only after it has succeeded.
  await take('b', await read());
  assert.equal((await read()).pause, undefined);
  assert.deepEqual((await read()).fault, released.fault);
  assert.equal(await states.release(of, 'b', { rate: released.rate }), 'released');
  assert.deepEqual(await read(), { rate: released.rate, earlier: {}, isWoken: false });
});

test('an owner that was woken cannot release the lease before it has looked again', async (t) => {
  const { states, of, read, take } = await start(t);
  const clock = { now: () => UNTIL - 1 };
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'start');
  await take('a', await read());
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'held');
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'held');
  assert.equal(await states.release(of, 'a', {}), 'woken');
  assert.equal((await read()).lease?.owner, 'a');
  assert.equal(await states.release(of, 'a', {}), 'released');
  assert.equal(await states.markWoken(of, 'a'), false);
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'start');
});

test('a pause holds until it is over, and a lease until it ends', async (t) => {
  const { states, of, read, take } = await start(t);
  await take('a', await read());
  assert.equal((await wakeConsumer(states, { now: () => UNTIL }, of)).kind, 'start');
  await states.release(of, 'a', { pause: { until: 5, tries: 1 } });
  assert.equal((await wakeConsumer(states, { now: () => 4 }, of)).kind, 'paused');
  assert.equal((await wakeConsumer(states, { now: () => 5 }, of)).kind, 'start');
  const missing = { ...of, consumer: 'main/other' };
  assert.equal((await wakeConsumer(states, { now: () => 5 }, missing)).kind, 'gone');
  assert.equal(
    await states.take(missing, { owner: 'a', until: 1, calls: 1 }, await read(), {}),
    false,
  );
});
