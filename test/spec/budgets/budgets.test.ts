import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

const KB = 1024;

/** Starts a broker whose caches hold the queue `q`, as after some time of use. */
async function startWarm(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await broker.send('q', 'warm'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  assert.equal(await broker.complete(message), 200);
  return broker;
}

/** A generator of pseudo-random whole numbers, which are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = ['Amara', 'Björn', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Grace', 'Hiroshi'];
const CITIES = ['Lagos', 'Uppsala', 'Torino', 'Kazan', 'Izmir', 'Rabat', 'Leeds', 'Kyoto'];

/** An order of about 200 bytes. */
function smallOrder(draw: (below: number) => number): string {
  const id = Array.from({ length: 12 }, () => draw(16).toString(16)).join('');
  return JSON.stringify({
    id: `ord_${id}`,
    customer: 10_000 + draw(90_000),
    placedAt: new Date(Date.UTC(2026, 0, 1) + draw(31_536_000) * 1000).toISOString(),
    items: Array.from({ length: 1 + draw(2) }, () => ({
      sku: `SKU-${1000 + draw(9000)}`,
      quantity: 1 + draw(9),
      price: (draw(20_000) / 100).toFixed(2),
    })),
    currency: ['EUR', 'USD', 'GBP'][draw(3)],
    express: draw(4) === 0,
  });
}

/** An order with address and history, of about 1 KB. */
function largeOrder(draw: (below: number) => number): string {
  const pick = (from: readonly string[]) => from[draw(from.length)];
  const order: Record<string, unknown> = JSON.parse(smallOrder(draw));
  const history = Array.from({ length: 7 }, (_, i) => ({
    at: new Date(Date.UTC(2026, 0, 1) + draw(31_536_000) * 1000).toISOString(),
    state: ['created', 'paid', 'packed', 'shipped', 'delivered', 'returned', 'refunded'][i],
    by: `user_${draw(1_000_000)}`,
  }));
  const address = {
    name: `${pick(NAMES)} ${pick(NAMES)}sson`,
    street: `${pick(CITIES)} Street ${1 + draw(200)}`,
    postcode: String(10_000 + draw(90_000)),
    city: pick(CITIES),
    phone: `+${draw(1_000_000_000)}`,
  };
  const text = JSON.stringify({ ...order, shippingAddress: address, billing: address, history });
  return JSON.stringify({ ...JSON.parse(text), checksum: draw(2 ** 31) });
}

const bodiesOf = (make: (draw: (below: number) => number) => string, count: number) => {
  const draw = numbers(7);
  return Array.from({ length: count }, () => make(draw));
};

const completeAll = (broker: TestBroker, messages: readonly Received[]) =>
  broker.settle(
    'q',
    messages.map(({ broker: { LockToken } }) => ({ lockToken: LockToken, outcome: 'complete' })),
  );

/** Sends, locks and completes a batch, in one call each, as there is no other client. */
async function passBatch(broker: TestBroker, bodies: readonly string[]): Promise<void> {
  expectStatus(
    await broker.sendBatch(
      'q',
      bodies.map((Body) => ({ Body })),
    ),
    201,
  );
  const messages = await broker.peekLockMany('q', bodies.length);
  assert.deepEqual(
    messages.map(({ body }) => body),
    bodies,
  );
  const outcomes = await completeAll(broker, messages);
  assert.ok(outcomes.every(({ settled }) => settled));
}

async function passSingle(broker: TestBroker, body: string | Uint8Array): Promise<void> {
  expectStatus(await broker.send('q', body), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  assert.equal(await broker.complete(message), 200);
}

test('a message of 200 bytes in batches of 100 costs at most 0.35 write units', async (t) => {
  const broker = await startWarm(t);
  const bodies = bodiesOf(smallOrder, 100);
  const mean = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / 100;
  assert.ok(mean >= 180 && mean <= 220, `the bodies have ${mean} bytes`);
  const { write } = await broker.units(() => passBatch(broker, bodies));
  t.diagnostic(`${write / 100} write units a message`);
  assert.ok(write / 100 <= 0.35, `${write} write units for 100 messages`);
});

test('a message of 1 KB in batches of 100 costs at most 0.8 write units', async (t) => {
  const broker = await startWarm(t);
  const bodies = bodiesOf(largeOrder, 100);
  const mean = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / 100;
  assert.ok(mean >= 950 && mean <= 1100, `the bodies have ${mean} bytes`);
  const { write } = await broker.units(() => passBatch(broker, bodies));
  t.diagnostic(`${write / 100} write units a message`);
  assert.ok(write / 100 <= 0.8, `${write} write units for 100 messages`);
});

test('a small message that is sent, received and completed alone costs 4 write units', async (t) => {
  const broker = await startWarm(t);
  for (const body of bodiesOf(smallOrder, 5)) {
    const { write } = await broker.units(() => passSingle(broker, body));
    assert.equal(write, 4);
  }
});

test('an incompressible message of 64 KB costs at most 2 × 64 + 4 write units', async (t) => {
  const broker = await startWarm(t);
  const { write } = await broker.units(() => passSingle(broker, randomBytes(64 * KB)));
  t.diagnostic(`${write} write units`);
  assert.ok(write <= 2 * 64 + 4, `${write} write units`);
});

for (const count of [1, 2, 12, 23]) {
  test(`completing ${count} messages of one block costs one write unit`, async (t) => {
    const broker = await startWarm(t);
    const bodies = bodiesOf(smallOrder, 24);
    expectStatus(
      await broker.sendBatch(
        'q',
        bodies.map((Body) => ({ Body })),
      ),
      201,
    );
    const messages = await broker.peekLockMany('q', 24);
    const units = await broker.units(() => completeAll(broker, messages.slice(24 - count)));
    assert.deepEqual(units, { read: 0, write: 1, requests: 1, roundTrips: 1 });
  });
}

test('completing all messages of a block that holds their bodies costs one write unit', async (t) => {
  const broker = await startWarm(t);
  expectStatus(
    await broker.sendBatch(
      'q',
      ['a', 'b', 'c'].map((Body) => ({ Body })),
    ),
    201,
  );
  const messages = await broker.peekLockMany('q', 3);
  const units = await broker.units(() => completeAll(broker, messages));
  assert.deepEqual(units, { read: 0, write: 1, requests: 1, roundTrips: 1 });
});

test('renewing and abandoning all messages of a block cost one write unit each', async (t) => {
  const broker = await startWarm(t);
  const bodies = bodiesOf(smallOrder, 24);
  expectStatus(
    await broker.sendBatch(
      'q',
      bodies.map((Body) => ({ Body })),
    ),
    201,
  );
  const tokens = (await broker.peekLockMany('q', 24)).map((message) => message.broker.LockToken);
  const renewed = await broker.units(() =>
    broker.request('POST', 'q/messages/$renew', { body: JSON.stringify({ lockTokens: tokens }) }),
  );
  assert.deepEqual(renewed, { read: 0, write: 1, requests: 1, roundTrips: 1 });
  const abandoned = await broker.units(() =>
    broker.settle(
      'q',
      tokens.map((lockToken) => ({ lockToken, outcome: 'abandon' })),
    ),
  );
  assert.deepEqual(abandoned, { read: 0, write: 1, requests: 1, roundTrips: 1 });
});

test('a send makes 2 round trips to DynamoDB, a receive 2 and a settlement 1', async (t) => {
  const broker = await startWarm(t);
  const bodies = bodiesOf(largeOrder, 100);
  const sent = await broker.units(() =>
    broker.sendBatch(
      'q',
      bodies.map((Body) => ({ Body })),
    ),
  );
  assert.equal(sent.roundTrips, 2);
  let messages: readonly Received[] = [];
  const received = await broker.units(async () => {
    messages = await broker.peekLockMany('q', 100);
  });
  assert.equal(messages.length, 100);
  assert.equal(received.roundTrips, 2);
  // One message of each block stays, so that nothing is deleted after the answer.
  const { roundTrips } = await broker.units(() =>
    completeAll(
      broker,
      messages.filter((_, i) => i % 10 > 0),
    ),
  );
  assert.equal(roundTrips, 1);
});

test('a small message, whose body is in the block, makes 2 round trips to send, 2 to receive and 1 to complete', async (t) => {
  const broker = await startWarm(t);
  const sent = await broker.units(() => broker.send('q', 'small'));
  assert.deepEqual([sent.roundTrips, sent.requests], [2, 2]);
  let message: Received | undefined;
  const received = await broker.units(async () => {
    message = await broker.peekLock('q');
  });
  assert.deepEqual([received.roundTrips, received.requests], [2, 2]);
  assert.ok(message);
  const locked = message;
  const settled = await broker.units(() => broker.complete(locked));
  assert.deepEqual(settled, { read: 0, write: 1, requests: 1, roundTrips: 1 });
});

test('a receive from an empty queue costs at most one read unit', async (t) => {
  const broker = await startWarm(t);
  const { read, write } = await broker.units(() => broker.peekLock('q'));
  assert.ok(read <= 1, `${read} read units`);
  assert.equal(write, 0);
});

/** Fills a queue fast: small bodies, the largest batches, four senders. */
async function fill(broker: TestBroker, path: string, count: number): Promise<void> {
  let left = count;
  const sender = async () => {
    while (left > 0) {
      const size = Math.min(4500, left);
      left -= size;
      const batch = Array.from({ length: size }, () => ({ Body: 'x' }));
      expectStatus(await broker.sendBatch(path, batch), 201);
    }
  };
  await Promise.all([sender(), sender(), sender(), sender()]);
}

/** Read units of a receive from a queue that holds one message and nothing else. */
async function bareReceive(broker: TestBroker): Promise<number> {
  expectStatus(await broker.createQueue('bare'), 201);
  for (const body of ['warm', 'measured']) expectStatus(await broker.send('bare', body), 201);
  await broker.receiveAndDelete('bare');
  const { read } = await broker.units(() => broker.peekLock('bare'));
  return read;
}

test('10,000 locked messages ahead cost a receive at most 2 more read units', async (t) => {
  const broker = await startWarm(t);
  const bare = await bareReceive(broker);
  await fill(broker, 'q', 10_000);
  let locked = 0;
  while (locked < 10_000) locked += (await broker.peekLockMany('q', 1000)).length;
  for (let i = 0; i < 20; i++) {
    expectStatus(await broker.send('q', `${i}`), 201);
    let message: Received | undefined;
    const { read } = await broker.units(async () => {
      message = await broker.peekLock('q');
    });
    assert.equal(message?.body, `${i}`);
    assert.ok(read <= bare + 2, `${read} read units, bare ${bare}`);
  }
});

const BEHIND = isMore() ? 200_000 : 20_000;

test(`${BEHIND} messages behind cost a receive at most 2 more read units`, async (t) => {
  const broker = await startWarm(t);
  const bare = await bareReceive(broker);
  expectStatus(await broker.send('q', 'front'), 201);
  await fill(broker, 'q', BEHIND);
  for (const expected of ['front', 'x', 'x', 'x']) {
    let message: Received | undefined;
    const { read } = await broker.units(async () => {
      message = await broker.peekLock('q');
    });
    assert.equal(message?.body, expected);
    assert.ok(read <= bare + 2, `${read} read units, bare ${bare}`);
  }
});
