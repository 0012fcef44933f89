import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { roundTripClient, unthreaded } from '../../support/round-trip-client.ts';
import { FEW_ITEMS } from '../../support/small-limits.ts';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createSubscriptions,
  createTopic,
  drain,
  drainBodies,
  EVERYTHING,
  eachOf,
  set,
  subscription,
} from '../../support/topic-entities.ts';
import { TopicItems } from '../../support/topic-items.ts';
import { bodies, instant, numbers } from '../queues/queue.ts';

const names = (count: number) => Array.from({ length: count }, (_, i) => subscription(`s${i}`));

/** A message for this many subscriptions takes two transactions. */
const MANY = 1.5 * FEW_ITEMS.transactionItems;

/** A topic with subscriptions that get every message. */
async function start(
  t: TestContext,
  count: number,
  options: StartOptions = {},
): Promise<TestBroker> {
  const broker = await startBroker(t, options);
  await createTopic(broker);
  await createSubscriptions(broker, names(count));
  return broker;
}

/** The same with a broker that has sent before, so that its caches are filled. */
async function startWarm(
  t: TestContext,
  count: number,
  options?: StartOptions,
): Promise<TestBroker> {
  const broker = await start(t, count, options);
  expectStatus(await broker.send('t', 'warm'), 201);
  return broker;
}

test('each subscription gets each message once and in order, also if they are more than a transaction holds', async (t) => {
  const broker = await start(t, MANY, { limits: FEW_ITEMS });
  const large = randomBytes(30_000).toString('base64');
  expectStatus(await broker.send('t', 'one'), 201);
  expectStatus(await broker.sendBatch('t', [{ Body: 'two' }, { Body: large }]), 201);
  const batch = Array.from({ length: 100 }, (_, i) => ({ Body: `${i}`.padEnd(200, 'x') }));
  expectStatus(await broker.sendBatch('t', batch), 201);
  const expected = ['one', 'two', large, ...batch.map(({ Body }) => Body)];
  await eachOf(names(MANY), async (path) => {
    const all = await drain(broker, path);
    assert.deepEqual(bodies(all), expected, path);
    assert.deepEqual(
      numbers(all),
      expected.map((_, i) => i + 1),
    );
  });
  await broker.sweep();
  broker.clock.advance({ minutes: 2 });
  await broker.sweep();
  await eachOf(names(MANY), async (path) => assert.deepEqual(await counts(broker, path), {}));
  const items = new TopicItems(broker);
  t.after(() => items.close());
  const { all } = await items.ofEntity(await items.idOf('t'));
  assert.equal(all, 1, 'the counter is the topic’s only item');
});

test('a scheduled message reaches each of more subscriptions than a transaction holds once', async (t) => {
  const broker = await start(t, MANY, { limits: FEW_ITEMS });
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };
  expectStatus(await broker.send('t', 'x', at), 201);
  broker.clock.advance({ seconds: 10 });
  const [first = ''] = names(1);
  assert.deepEqual(await drainBodies(broker, first), ['x']);
  broker.clock.advance({ minutes: 2 });
  await broker.sweep();
  await eachOf(names(MANY).slice(1), async (path) =>
    assert.deepEqual(await drainBodies(broker, path), ['x']),
  );
  assert.deepEqual(await counts(broker, 't'), { Subscription: MANY });
});

test('stored messages of a queue that begins to forward reach all of more subscriptions than a transaction holds', async (t) => {
  const broker = await start(t, MANY, { limits: FEW_ITEMS });
  expectStatus(await broker.createQueue('source'), 201);
  for (const body of ['a', 'b']) expectStatus(await broker.send('source', body), 201);
  expectStatus(await broker.updateQueue('source', { ForwardTo: 't' }), 200);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  await eachOf(names(MANY), async (path) =>
    assert.deepEqual(await drainBodies(broker, path), ['a', 'b']),
  );
  assert.deepEqual(await counts(broker, 'source'), {});
});

/** Pseudo-random orders of about 200 bytes each. */
function orders(count: number): { readonly Body: string }[] {
  let state = 7;
  const draw = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: count }, () => ({
    Body: JSON.stringify({
      id: `ord_${Array.from({ length: 12 }, () => draw(16).toString(16)).join('')}`,
      customer: 10_000 + draw(90_000),
      placedAt: new Date(Date.UTC(2026, 0, 1) + draw(31_536_000) * 1000).toISOString(),
      items: [
        { sku: `SKU-${1000 + draw(9000)}`, quantity: 1 + draw(9), price: draw(20_000) / 100 },
      ],
      currency: ['EUR', 'USD', 'GBP'][draw(3)],
      note: Array.from({ length: 40 }, () => draw(36).toString(36)).join(''),
    }),
  }));
}

test('a batch of 100 for 10 subscriptions costs its blocks 10 times, its bodies once, and one counter', async (t) => {
  const client = roundTripClient();
  t.after(() => client.destroy());
  const broker = await startWarm(t, 10, { client, compression: unthreaded });
  const batch = orders(100);
  const bytes = batch.reduce((sum, { Body }) => sum + Body.length, 0);
  assert.ok(bytes > 18_000 && bytes < 25_000, `${bytes} bytes`);
  const { write, roundTrips } = await broker.units(() => broker.sendBatch('t', batch));
  const copies = 10 * batch.length;
  t.diagnostic(`${write} write units for ${copies} copies, ${(write / copies).toFixed(3)} a copy`);
  // A block holds 34 messages, so that it is one unit even with all locked; in a transaction it costs two.
  const blocks = 10 * 3 * 2;
  // The bodies once, compressed to less than two thirds, and the references to each payload.
  const shared = Math.ceil((bytes * 2) / 3 / 1024) + 3;
  const counter = 1;
  assert.ok(write <= blocks + shared + counter, `${write} write units`);
  assert.ok(write < 100, `${write} write units: less than 0.1 a copy`);
  assert.ok(roundTrips <= 3, `${roundTrips} round trips`);
});

test('a small message for 10 subscriptions costs 2 write units a copy and one for the counter', async (t) => {
  const broker = await startWarm(t, 10);
  const { write, read } = await broker.units(() => broker.send('t', 'small'));
  t.diagnostic(`${write} write units`);
  assert.equal(write, 10 * 2 + 1);
  assert.equal(read, 0);
});

test('a small message for one subscription costs 2 write units: a block and the counter', async (t) => {
  const broker = await startWarm(t, 1);
  const units = await broker.units(() => broker.send('t', 'small'));
  assert.deepEqual(units, { read: 0, write: 2, requests: 2, roundTrips: 2 });
});

test('a body of 64 KB is stored once, however many subscriptions get it', async (t) => {
  const body = randomBytes(64 * 1024);
  const costs: number[] = [];
  for (const count of [2, 12]) {
    const broker = await startWarm(t, count);
    costs.push((await broker.units(() => broker.send('t', body))).write);
  }
  const [two = 0, twelve = 0] = costs;
  t.diagnostic(`${two} write units for 2 subscriptions, ${twelve} for 12`);
  assert.ok(two <= 64 + 2 + 2 * 2 + 2, `${two} write units`);
  assert.equal(twelve - two, 10 * 2);
});

test('a body of 64 KB is stored once more if the first of 12 subscriptions changes its copy', async (t) => {
  const broker = await startWarm(t, 11);
  // Its name sorts first.
  const acting = { filter: EVERYTHING, action: set('SET x = 1') };
  await createRuledSubscription(broker, subscription('0'), { acting });
  expectStatus(await broker.send('t', 'warm'), 201);
  const { write } = await broker.units(() => broker.send('t', randomBytes(64 * 1024)));
  t.diagnostic(`${write} write units`);
  assert.ok(write <= 2 * (64 + 3) + 12 * 2 + 2, `${write} write units`);
});

test('a message that matches no subscription costs at most one write unit', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createRuledSubscription(broker, subscription('s'), {});
  expectStatus(await broker.send('t', 'warm'), 201);
  const { write } = await broker.units(() => broker.send('t', 'x'.repeat(50_000)));
  assert.ok(write <= 1, `${write} write units`);
});

test('a forward over four hops writes a counter for each queue, and a block in the last one only', async (t) => {
  const broker = await startBroker(t);
  for (let i = 4; i >= 0; i--) {
    const settings: Record<string, string> = i === 4 ? {} : { ForwardTo: `q${i + 1}` };
    expectStatus(await broker.createQueue(`q${i}`, settings), 201);
  }
  expectStatus(await broker.send('q0', 'warm'), 201);
  const { write } = await broker.units(() => broker.send('q0', 'x'));
  assert.equal(write, 5 + 1);
});
