import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { settlementOf } from '../queues/queue.ts';
import { createPartitioned, drain, PARTITIONED, partitionOf, peekAll } from './partitioned.ts';

/** Steps of the random operations, and of the sends through the chain. */
const STEPS = isMore() ? { random: 150, chain: 40 } : { random: 75, chain: 20 };
const KEYS = 12;

/** The expected content of the queue: all bodies sent and not yet received, and those of each key in order. */
interface Ledger {
  readonly sent: Set<string>;
  readonly byKey: Map<string, string[]>;
}

interface Run {
  readonly brokers: readonly [TestBroker, TestBroker];
  readonly random: LoadRandom;
  readonly ledger: Ledger;
}

async function start(t: TestContext, seed: string): Promise<Run> {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await createPartitioned(here, 'p', { MaxDeliveryCount: '100' }), 201);
  return {
    brokers: [here, there],
    random: new LoadRandom(seed),
    ledger: { sent: new Set(), byKey: new Map() },
  };
}

async function sendSome({ brokers, random, ledger }: Run, step: number): Promise<void> {
  const count = random.chance(0.5) ? 1 : random.between(2, 60);
  const key = random.chance(0.6) ? `key ${random.below(KEYS)}` : undefined;
  const name = random.chance(0.5) ? 'PartitionKey' : 'SessionId';
  const messages = Array.from({ length: count }, (_, i) => ({
    Body: `${step}.${i}`,
    ...(key === undefined ? {} : { BrokerProperties: { [name]: key } }),
  }));
  expectStatus(await random.pick(brokers).sendBatch('p', messages), 201);
  for (const { Body } of messages) {
    ledger.sent.add(Body);
    if (key !== undefined) ledger.byKey.set(key, [...(ledger.byKey.get(key) ?? []), Body]);
  }
}

function keyOf({ broker }: Received): string | undefined {
  return (broker['SessionId'] ?? broker['PartitionKey']) as string | undefined;
}

/**
 * Receives and deletes some messages; each must have been sent, and those of a key must come in order. Only
 * one process receives, since a process may see a second late what another one abandoned.
 */
async function receiveSome({ brokers: [broker], random, ledger }: Run): Promise<number> {
  const max = random.pick([1, 2, 5, 30, 100]);
  const taken = await broker.receiveAndDeleteMany('p', max);
  assert.ok(taken.length <= max);
  for (const message of taken) requireExpected(ledger, message);
  return taken.length;
}

function requireExpected(ledger: Ledger, message: Received): void {
  assert.ok(ledger.sent.delete(message.body), `${message.body} is a duplicate or was never sent`);
  const key = keyOf(message);
  if (key !== undefined) assert.equal(ledger.byKey.get(key)?.shift(), message.body);
}

/** Locks some messages and abandons them. */
async function abandonSome({ brokers: [broker], random }: Run): Promise<void> {
  const max = random.pick([1, 7, 40]);
  const locked = await broker.peekLockMany('p', max);
  assert.ok(locked.length <= max);
  if (locked.length === 0) return;
  const outcomes = await broker.settle(
    'p',
    locked.map((message) => settlementOf(message, 'abandon')),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
}

async function requireSameOnPeek({ brokers, random, ledger }: Run): Promise<void> {
  const shown = await peekAll(random.pick(brokers));
  assert.deepEqual(new Set(shown.map(({ body }) => body)), ledger.sent);
  const partitionsOfKeys = new Map<string, number>();
  for (const message of shown) {
    const key = keyOf(message);
    if (key === undefined) continue;
    const partition = partitionsOfKeys.get(key) ?? partitionOf(message);
    assert.equal(partitionOf(message), partition);
    partitionsOfKeys.set(key, partition);
  }
}

const seed = seedOfRun();
test(`#P3 #P7 random receives return each message once, and those of a key in order (seed ${seed})`, async (t) => {
  const run = await start(t, seed);
  for (let step = 0; step < STEPS.random; step++) {
    const what = run.random.next();
    if (what < 0.45) await sendSome(run, step);
    else if (what < 0.8) await receiveSome(run);
    else if (what < 0.95) await abandonSome(run);
    else await requireSameOnPeek(run);
  }
  while ((await receiveSome(run)) > 0) {
    // A receive returns nothing only if no message is left.
  }
  assert.deepEqual([...run.ledger.sent], []);
});

test(`#P1 #P11 a chain of plain and partitioned queues forwards each of random messages once (seed ${seed})`, async (t) => {
  const broker = await startBroker(t);
  const random = new LoadRandom(`${seed} chain`);
  expectStatus(await broker.createQueue('end', PARTITIONED), 201);
  expectStatus(await broker.createQueue('middle', { ForwardTo: 'end' }), 201);
  expectStatus(await broker.createQueue('begin', { ...PARTITIONED, ForwardTo: 'middle' }), 201);
  const sent: string[] = [];
  for (let step = 0; step < STEPS.chain; step++) {
    const path = random.pick(['begin', 'middle', 'end']);
    const key = random.chance(0.5) ? { SessionId: `s${random.below(KEYS)}` } : undefined;
    const messages = Array.from({ length: random.between(1, 40) }, (_, i) => ({
      Body: `${step}.${i}`,
      ...(key === undefined ? {} : { BrokerProperties: key }),
    }));
    expectStatus(await broker.sendBatch(path, messages), 201);
    sent.push(...messages.map(({ Body }) => Body));
  }
  const received = (await drain(broker, 'end')).map(({ body }) => body);
  assert.deepEqual(received.sort(), sent.sort());
});
