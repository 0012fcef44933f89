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
const LEASE = { until: UNTIL, calls: 4, timeoutMs: 60 } as const;
/** The state of a consumer that nobody has worked for. */
const NEW = { turn: 0, formerCalls: {}, isWoken: false } as const;

/** The lease of the worker `a`, as it releases it. */
const A = { owner: 'a', until: UNTIL };

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
  const take = async (owner: string, seen: ConsumerState, formerCalls = {}) =>
    await states.take(of, { owner, ...LEASE }, seen, formerCalls);
  return { broker, states, of, read, take };
}

test('a state comes and goes with its consumer', async (t) => {
  const { broker, states, of, read } = await start(t);
  assert.deepEqual(await read(), NEW);
  assert.deepEqual(await states.consumersOf(of.entityId), [{ of, state: NEW }]);
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
  assert.deepEqual(held.lease, { owner: 'a', ...LEASE });
  assert.equal(await take('a', free), true, 'an earlier try of the same write took it');
  // Whoever saw it end takes it over, and the first owner has lost it.
  assert.equal(await take('b', held, { a: { calls: 4, until: UNTIL + 1 } }), true);
  assert.equal(await take('c', held), false);
  const lease = { owner: 'a', ...LEASE };
  assert.equal(await states.renew(of, lease, {}), undefined);
  assert.equal(await states.release(of, { owner: 'a', until: UNTIL }, {}), 'lost');
  assert.equal((await read()).lease?.owner, 'b');
});

test('a renewal stores what is wrong, and tells of calls of former owners, which end', async (t) => {
  const { states, of, read, take } = await start(t);
  const formerCalls = { a: { calls: 4, until: UNTIL } };
  await take('b', await read(), formerCalls);
  const trouble = { fault: { at: 1, error: 'No.' }, pause: { until: 5, tries: 2 } };
  const lease = { owner: 'b', until: UNTIL + 1, calls: 8, timeoutMs: 70 };
  const renewed = await states.renew(of, lease, trouble);
  assert.deepEqual(renewed, { lease, turn: 1, formerCalls, isWoken: false, ...trouble });
  const { fault } = trouble;
  assert.deepEqual(await states.renew(of, lease, { fault }), {
    lease,
    turn: 1,
    formerCalls,
    isWoken: false,
    fault,
  });
  await states.endFormerCalls(of, 'a');
  await states.endFormerCalls(of, 'a');
  assert.deepEqual((await read()).formerCalls, {});
  assert.deepEqual(await states.renew(of, lease, {}), {
    lease,
    turn: 1,
    formerCalls: {},
    isWoken: false,
  });
});

test('a release keeps what the next owner must know', async (t) => {
  const { states, of, read, take } = await start(t);
  await take('a', await read());
  const released = {
    pause: { until: 5, tries: 2 },
    rate: { messages: 0.5, at: 3 },
    fault: { at: 1, error: 'No.' },
    formerCalls: { calls: 2, until: 7 },
  };
  assert.equal(await states.release(of, A, released), 'released');
  const { formerCalls, ...kept } = released;
  assert.deepEqual(await read(), {
    ...kept,
    turn: 1,
    formerCalls: { a: formerCalls },
    isWoken: false,
  });
  // The next one begins without the pause, and without the fault only after it has succeeded.
  await take('b', await read());
  assert.equal((await read()).pause, undefined);
  assert.deepEqual((await read()).fault, released.fault);
  assert.equal(await states.release(of, { ...A, owner: 'b' }, { rate: released.rate }), 'released');
  assert.deepEqual(await read(), { rate: released.rate, turn: 2, formerCalls: {}, isWoken: false });
});

test('an owner that was woken cannot release the lease before it has looked again', async (t) => {
  const { states, of, read, take } = await start(t);
  const clock = { now: () => UNTIL - 1 };
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'start');
  await take('a', await read());
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'held');
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'held');
  assert.equal(await states.release(of, A, {}), 'woken');
  assert.equal((await read()).lease?.owner, 'a');
  assert.equal(await states.release(of, { ...A, until: UNTIL + 1 }, {}), 'released');
  assert.equal(await states.markWoken(of, 'a'), false);
  assert.equal((await wakeConsumer(states, clock, of)).kind, 'start');
});

test('a pause holds until it is over, and a lease until it ends', async (t) => {
  const { states, of, read, take } = await start(t);
  await take('a', await read());
  assert.equal((await wakeConsumer(states, { now: () => UNTIL }, of)).kind, 'start');
  await states.release(of, A, { pause: { until: 5, tries: 1 } });
  assert.equal((await wakeConsumer(states, { now: () => 4 }, of)).kind, 'paused');
  assert.equal((await wakeConsumer(states, { now: () => 5 }, of)).kind, 'start');
  const missing = { ...of, consumer: 'main/other' };
  assert.equal((await wakeConsumer(states, { now: () => 5 }, missing)).kind, 'gone');
  assert.equal(await states.take(missing, { owner: 'a', ...LEASE }, await read(), {}), false);
});

test('a copy of a write that arrives late changes nothing', async (t) => {
  const { states, of, read, take } = await start(t);
  const free = await read();
  await take('a', free);
  const later = { owner: 'a', until: UNTIL + 2, calls: 64, timeoutMs: 60 };
  assert.ok(await states.renew(of, later, {}));
  const renewed = await read();
  // An earlier renewal, and an earlier release.
  const earlier = { owner: 'a', until: UNTIL + 1, calls: 4, timeoutMs: 60 };
  assert.equal(await states.renew(of, earlier, {}), undefined);
  assert.equal(await states.release(of, A, {}), 'lost');
  assert.deepEqual(await read(), renewed);
  // The same renewal once more is no other one.
  assert.ok(await states.renew(of, later, {}));
  // A release that was refused, since something arrived.
  await states.markWoken(of, 'a');
  assert.equal(await states.release(of, later, {}), 'woken');
  assert.equal(await states.release(of, later, {}), 'lost');
  assert.equal((await read()).lease?.owner, 'a');
  assert.equal(await states.release(of, { ...later, until: UNTIL + 3 }, {}), 'released');
  // The take itself.
  assert.equal(await take('a', free), false);
  assert.equal((await read()).lease, undefined);
});

test('a consumer that is changed is not paused any more', async (t) => {
  const { broker, states, of, read, take } = await start(t);
  await take('a', await read());
  await states.release(of, A, { pause: { until: UNTIL, tries: 3 } });
  assert.ok((await read()).pause);
  expectStatus(await putConsumer(broker, 'q/consumers/c', { maxBatch: 2 }), 200);
  assert.equal((await read()).pause, undefined);
});
