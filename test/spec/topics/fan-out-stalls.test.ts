import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { FEW_ITEMS } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  eachOf,
  subscription,
} from '../../support/topic-entities.ts';
import { type CuttingClient, cuttingClient } from '../../support/topic-faults.ts';
import { TopicItems } from '../../support/topic-items.ts';

/** A send to this many subscriptions stores a fan-out intent, and carries it out in two steps. */
const COUNT = FEW_ITEMS.transactionItems + 1;
const PATHS = Array.from({ length: COUNT }, (_, i) => subscription(`s${i}`));
/** The numbers of a send's writes, up to its last step. */
const WRITES = [1, 2, 3, 4, 5, 6, 7];

interface Namespace {
  readonly broker: TestBroker;
  /** Another process, which can be made to stall and to die. */
  readonly sender: TestBroker;
  readonly cut: CuttingClient;
}

async function start(t: TestContext): Promise<Namespace> {
  const broker = await startBroker(t, { limits: FEW_ITEMS });
  await createTopic(broker);
  await createSubscriptions(broker, PATHS);
  const cut = cuttingClient();
  t.after(() => cut.client.destroy());
  const sender = await startBroker(t, { beside: broker, client: cut.client, limits: FEW_ITEMS });
  return { broker, sender, cut };
}

async function sweepLater(broker: TestBroker, times: number, step: object): Promise<void> {
  for (let i = 0; i < times; i++) {
    broker.clock.advance(step);
    await broker.sweep();
  }
}

/** One sweep is enough; in a deployment there are three. */
async function sweepForThreeMinutes(broker: TestBroker): Promise<void> {
  const times = isMore() ? 3 : 1;
  await sweepLater(broker, times, { minutes: 3 / times });
}

/** Returns the number of subscriptions for each body; fails if one subscription has a body twice. */
async function drainAll(broker: TestBroker): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  await eachOf(PATHS, async (path) => {
    const bodies = await drainBodies(broker, path);
    assert.equal(new Set(bodies).size, bodies.length, `${path} has each message once`);
    for (const body of bodies) found.set(body, (found.get(body) ?? 0) + 1);
  });
  return found;
}

async function requireNothingLeft(t: TestContext, broker: TestBroker): Promise<void> {
  const items = new TopicItems(broker);
  t.after(() => items.close());
  await sweepLater(broker, 3, { days: 1 });
  assert.deepEqual(await items.ofEntity(await items.idOf('t')), { bodies: 0, all: 1 });
}

/** Sends, and the process stalls before the given write for more than a minute. */
async function sendStalling({ broker, sender, cut }: Namespace, write: number, body: string) {
  let isStalled = false;
  cut.stallAt(write, async () => {
    isStalled = true;
    await sweepLater(broker, 2, { seconds: 70 });
  });
  const { status } = await sender.send('t', body);
  cut.restart();
  await sweepForThreeMinutes(broker);
  return { status, isStalled };
}

test('a send that stalls for two minutes and then dies is finished for all subscriptions or stored for none', async (t) => {
  const namespace = await start(t);
  const { broker, cut } = namespace;
  const acknowledged: string[] = [];
  let stalls = 0;
  for (const write of WRITES) {
    cut.crashAtTransactionAfter(1);
    const { isStalled, status } = await sendStalling(namespace, write, `x${write}`);
    if (isStalled) stalls++;
    if (status === 201) acknowledged.push(`x${write}`);
  }
  assert.ok(stalls >= 5, `${stalls} sends stalled`);
  const found = await drainAll(broker);
  t.diagnostic(`stored by ${stalls} sends: ${[...found.keys()].join(' ')}`);
  for (const [body, count] of found) assert.equal(count, COUNT, body);
  for (const body of acknowledged) assert.ok(found.has(body), `${body} was acknowledged`);
  await requireNothingLeft(t, broker);
});

test('a send that stalls for two minutes and continues is stored for all subscriptions, or refused and stored for none', async (t) => {
  const namespace = await start(t);
  const large = randomBytes(20_000).toString('base64');
  const statuses: number[] = [];
  for (const write of WRITES) {
    const { status } = await sendStalling(namespace, write, `x${write}${large}`);
    statuses.push(status);
  }
  const found = await drainAll(namespace.broker);
  for (const [i, write] of WRITES.entries()) {
    const expected = statuses[i] === 201 ? COUNT : undefined;
    assert.equal(found.get(`x${write}${large}`), expected, `${statuses[i]}, at write ${write}`);
  }
  // The client may repeat a refused send, since nothing was stored.
  assert.deepEqual([...new Set(statuses)].sort(), [201, 503]);
  expectStatus(await namespace.sender.send('t', 'x'), 201);
  assert.deepEqual(await drainAll(namespace.broker), new Map([['x', COUNT]]));
  await requireNothingLeft(t, namespace.broker);
});

test('a scheduled message reaches each subscription once although its activation stalls and dies', async (t) => {
  const { broker, sender, cut } = await start(t);
  const [first = ''] = PATHS;
  for (const write of WRITES) {
    const ScheduledEnqueueTimeUtc = new Date(broker.clock.now() + 10_000).toUTCString();
    expectStatus(await broker.send('t', `x${write}`, { ScheduledEnqueueTimeUtc }), 201);
    broker.clock.advance({ seconds: 11 });
    cut.stallAt(write, () => sweepLater(broker, 2, { seconds: 70 }));
    cut.crashAtTransactionAfter(2);
    await sender.request('DELETE', `${first}/messages/head?timeout=0`);
    await sender.units(async () => {});
    cut.restart();
    await sweepForThreeMinutes(broker);
  }
  const found = await drainAll(broker);
  for (const write of WRITES) {
    // The receive of the first subscription may have deleted its copy already.
    assert.ok((found.get(`x${write}`) ?? 0) >= COUNT - 1, `write ${write}`);
  }
  await requireNothingLeft(t, broker);
});

test('a send that dies before it enters the due-work index leaves no items three days later', async (t) => {
  const { broker, sender, cut } = await start(t);
  for (const write of WRITES) {
    let isDead = false;
    cut.stallAt(write, async () => {
      isDead = true;
      cut.crashAfter(0);
    });
    const { status } = await sender.send('t', `x${write}`);
    cut.restart();
    assert.equal(status >= 500, isDead);
  }
  await sweepLater(broker, 3, { minutes: 1 });
  for (const [body, count] of await drainAll(broker)) assert.equal(count, COUNT, body);
  await requireNothingLeft(t, broker);
});
