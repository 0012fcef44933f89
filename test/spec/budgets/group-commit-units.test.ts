import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { hookedClient } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { acceptNext } from '../../support/test-session.ts';
import { createSubscriptions, createTopic } from '../../support/topic-entities.ts';
import { SlowTime, type VirtualTime } from '../../support/virtual-time.ts';

const CLIENTS = 32;
const ROUNDS = 6;
const MESSAGES = CLIENTS * ROUNDS;
const BODY = 'x'.repeat(200);

/** How long each request to the engine takes by the clock of the process, ms. */
const ENGINE_MS = 4;
/** Turns of the event loop after which a call has reached the broker. */
const TURNS = 30;

/** Clients that have no call under way. */
let idleClients = 0;

/** The engine answers when all clients have a call under way, so that on any machine as many calls share a write. */
async function engineWork(scheduler: VirtualTime): Promise<void> {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  while (idleClients > 0) await turn();
  for (let i = 0; i < TURNS; i++) await turn();
  scheduler.skip(ENGINE_MS);
}

/** Starts a broker with the queue `q` in its caches. */
async function startWarm(t: TestContext): Promise<TestBroker> {
  const scheduler = new SlowTime();
  const client = hookedClient(() => engineWork(scheduler));
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client, scheduler });
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await broker.send('q', 'warm'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  assert.equal(await broker.complete(message), 200);
  return broker;
}

/** Each client makes one call after the other. */
async function byClients(
  clients: number,
  rounds: number,
  call: () => Promise<unknown>,
): Promise<void> {
  idleClients = clients;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let i = 0; i < rounds; i++) {
        idleClients--;
        await call();
        idleClients++;
      }
      idleClients--;
    }),
  );
}

async function receiveAndComplete(broker: TestBroker, path = 'q'): Promise<Received> {
  const message = await broker.peekLock(path);
  assert.ok(message, 'each client gets a message');
  assert.equal(await broker.complete(message), 200);
  return message;
}

test('32 clients that handle single messages pay at most 0.6 write units a message for send, lock and complete, and 0.5 requests each way', async (t) => {
  const broker = await startWarm(t);
  const sent = await broker.units(() =>
    byClients(CLIENTS, ROUNDS, async () => expectStatus(await broker.send('q', BODY), 201)),
  );
  const seen = new Set<unknown>();
  const taken = await broker.units(() =>
    byClients(CLIENTS, ROUNDS, async () => {
      seen.add((await receiveAndComplete(broker)).broker.SequenceNumber);
    }),
  );
  const perMessage = (units: number) => units / MESSAGES;
  const write = perMessage(sent.write + taken.write);
  t.diagnostic(JSON.stringify({ write, sent, taken }));
  assert.equal(seen.size, MESSAGES, 'each message is received once');
  assert.ok(write <= 0.6, `${write} write units a message`);
  for (const [way, { requests }] of Object.entries({ sent, taken })) {
    assert.ok(perMessage(requests) <= 0.5, `${way}: ${perMessage(requests)} requests a message`);
  }
});

test('a lone client pays at most 4 write units a message, as without group commit', async (t) => {
  const broker = await startWarm(t);
  const sent = await broker.units(async () => expectStatus(await broker.send('q', BODY), 201));
  const taken = await broker.units(() => receiveAndComplete(broker));
  assert.ok(sent.write + taken.write <= 4, JSON.stringify({ sent, taken }));
  assert.equal(sent.requests, 2);
  assert.ok(taken.requests <= 3, `${taken.requests} requests`);
});

test('32 clients that ask an empty queue share their reads', async (t) => {
  const broker = await startWarm(t);
  const { requests } = await broker.units(() =>
    byClients(CLIENTS, ROUNDS, async () => assert.equal(await broker.peekLock('q'), undefined)),
  );
  assert.ok(requests / MESSAGES <= 0.5, `${requests} requests for ${MESSAGES} receives`);
});

test('16 receives that wait share a claim when 16 messages arrive together', async (t) => {
  const broker = await startWarm(t);
  const receives = 16;
  const { write } = await broker.units(async () => {
    const waiting = Array.from({ length: receives }, () => broker.peekLock('q', 30));
    // All of them wait once the queue was found empty.
    for (let i = 0; i < 20; i++) await broker.request('GET', '$health');
    const batch = Array.from({ length: receives }, () => ({ Body: BODY }));
    expectStatus(await broker.sendBatch('q', batch), 201);
    const got = await Promise.all(waiting);
    assert.equal(new Set(got.map((one) => one?.broker.SequenceNumber)).size, receives);
  });
  // 2 for the send; one by one, they would be 16 locks.
  assert.ok(write <= 8, `${write} write units`);
});

test('32 senders of single messages to a topic with 100 subscriptions pay at most a fifth of what they pay one by one', async (t) => {
  const broker = await startWarm(t);
  await createTopic(broker, 't');
  await createSubscriptions(
    broker,
    Array.from({ length: 100 }, (_, i) => `t/subscriptions/s${i}`),
  );
  const send = async () => expectStatus(await broker.send('t', BODY), 201);
  await send();
  const alone = await broker.units(send);
  const together = await broker.units(() => byClients(CLIENTS, 2, send));
  const each = together.write / (2 * CLIENTS);
  t.diagnostic(JSON.stringify({ alone: alone.write, each }));
  assert.ok(alone.write <= 201, `${alone.write} write units`);
  assert.ok(each <= alone.write / 5, `${each} write units a message`);
});

/** Accepts the next session, receives and completes its message, and releases it. Returns the body of the message. */
async function serveSession(broker: TestBroker): Promise<string> {
  const session = await acceptNext(broker, 's');
  assert.ok(session, 'each client gets a session');
  const [message, other] = await session.peekLockMany(10);
  assert.ok(message);
  assert.equal(other, undefined, 'a session has one message');
  const token = message.broker.LockToken;
  const [outcome] = await session.settle([{ lockToken: token, outcome: 'complete' }]);
  assert.ok(outcome?.settled);
  await session.release();
  return message.body;
}

async function sendToSessions(broker: TestBroker, count: number): Promise<void> {
  for (let i = 0; i < count; i += CLIENTS) {
    const batch = Array.from({ length: Math.min(CLIENTS, count - i) }, (_, n) => ({
      Body: `s${i + n}`,
      BrokerProperties: { SessionId: `s${i + n}` },
    }));
    expectStatus(await broker.sendBatch('s', batch), 201);
  }
}

/** What it took before the calls of one process shared requests: for one client, and for 8 with a look of their own. */
const BEFORE = { requests: { alone: 16, shared: 20.9 }, read: 9, write: 7 } as const;

for (const [clients, requestsMax] of [
  [1, 14],
  [8, 10.4],
  [32, 9.5],
] as const) {
  test(`${clients} clients that each serve one session after the other pay at most ${requestsMax} requests a session`, async (t) => {
    const broker = await startWarm(t);
    expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
    const rounds = 6;
    const sessions = clients * rounds;
    await sendToSessions(broker, sessions);
    const seen = new Set<string>();
    const { read, write, requests } = await broker.units(() =>
      byClients(clients, rounds, async () => seen.add(await serveSession(broker))),
    );
    const each = [read, write, requests].map((units) => units / sessions);
    t.diagnostic(JSON.stringify(each));
    assert.equal(seen.size, sessions, 'each session is served once');
    // Beside these, the entity and its due messages are read once.
    assert.ok(requests <= requestsMax * sessions + 2, `${requests / sessions} requests a session`);
    assert.ok(read <= BEFORE.read * sessions, `${read / sessions} read units a session`);
    assert.equal(write, BEFORE.write * sessions);
  });
}
