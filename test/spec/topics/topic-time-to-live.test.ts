import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  deadLettersOf,
  drainBodies,
  reasons,
  subscription,
  updateTopic,
} from '../../support/topic-entities.ts';
import { bodies, EXPIRED, instant, lock, lockAndSettle } from '../queues/queue.ts';

const S = subscription('s');

interface Row {
  readonly what: string;
  readonly message?: number;
  readonly topic?: number;
  readonly subscription?: number;
  readonly seconds: number;
}

/** Times to live in seconds; the shortest of them counts. */
const ROWS: readonly Row[] = [
  {
    what: '#56 #A14 the topic’s, shorter than the subscription’s',
    topic: 60,
    subscription: 300,
    seconds: 60,
  },
  {
    what: '#56 #A14 the subscription’s, shorter than the topic’s',
    topic: 300,
    subscription: 60,
    seconds: 60,
  },
  { what: '#56 the message’s, shortest', message: 30, topic: 300, subscription: 60, seconds: 30 },
  { what: '#56 #A14 the topic’s, shortest', message: 90, topic: 20, subscription: 60, seconds: 20 },
  {
    what: '#56 the subscription’s, shortest',
    message: 90,
    topic: 80,
    subscription: 10,
    seconds: 10,
  },
  { what: '#A14 the topic’s alone', topic: 60, seconds: 60 },
  { what: '#A14 the topic’s, shorter than the message’s', message: 90, topic: 60, seconds: 60 },
  { what: '#A10 the subscription’s alone', subscription: 60, seconds: 60 },
  {
    what: '#A10 the subscription’s, shorter than the message’s',
    message: 90,
    subscription: 60,
    seconds: 60,
  },
  { what: '#A1 the message’s alone', message: 60, seconds: 60 },
];

async function start(t: TestContext, row: Row): Promise<TestBroker> {
  const broker = await startBroker(t);
  const limit = (seconds: number | undefined): Record<string, string> =>
    seconds === undefined ? {} : { DefaultMessageTimeToLive: `PT${seconds}S` };
  await createTopic(broker, 't', limit(row.topic));
  const settings = { ...limit(row.subscription), DeadLetteringOnMessageExpiration: 'true' };
  await createSubscription(broker, S, settings);
  return broker;
}

for (const row of ROWS) {
  test(`${row.what}: this time to live decides when a copy expires, and is shown`, async (t) => {
    const broker = await start(t, row);
    const own = row.message === undefined ? {} : { TimeToLive: row.message };
    for (const body of ['first', 'second']) expectStatus(await broker.send('t', body, own), 201);
    broker.clock.advance({ seconds: row.seconds, ms: -1 });
    const [first] = await broker.peekLockMany(S, 1);
    assert.equal(first?.body, 'first');
    assert.equal(first?.broker.TimeToLive, row.seconds);
    assert.equal(first?.broker['ExpiresAtUtc'], instant({ seconds: row.seconds }));
    broker.clock.advance({ ms: 1 });
    assert.equal(await broker.peekLock(S), undefined);
    assert.deepEqual(await reasons(broker, deadLettersOf(S)), [['second', ...EXPIRED]]);
  });
}

test('#A16 a copy that expires by the topic’s time to live while locked is dead-lettered when the lock ends', async (t) => {
  const broker = await start(t, { what: '', topic: 30, seconds: 30 });
  expectStatus(await broker.send('t', 'x'), 201);
  const held = await lock(broker, S);
  broker.clock.advance({ seconds: 31 });
  assert.deepEqual(await broker.peek(deadLettersOf(S)), []);
  assert.equal(await broker.abandon(held), 200);
  assert.equal(await broker.peekLock(S), undefined);
  assert.deepEqual(await reasons(broker, deadLettersOf(S)), [['x', ...EXPIRED]]);
});

test('#A6 a copy that expires while locked can still be completed', async (t) => {
  const broker = await start(t, { what: '', topic: 30, seconds: 30 });
  expectStatus(await broker.send('t', 'x'), 201);
  const held = await lock(broker, S);
  broker.clock.advance({ seconds: 31 });
  assert.equal(await broker.complete(held), 200);
  assert.equal(await broker.peekLock(S), undefined);
  assert.deepEqual(await broker.peek(deadLettersOf(S)), []);
});

test('#A14 a shorter time to live of the topic also applies to copies already in its subscriptions', async (t) => {
  const broker = await start(t, { what: '', subscription: 300, seconds: 300 });
  expectStatus(await broker.send('t', 'relies on the default'), 201);
  await updateTopic(broker, 't', { DefaultMessageTimeToLive: 'PT1M' });
  broker.clock.advance({ seconds: 60 });
  assert.equal(await broker.peekLock(S), undefined);
});

test('#A5 each subscription applies its own time to live to its copy of a message', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  for (const seconds of [10, 20, 30]) {
    const settings = { DefaultMessageTimeToLive: `PT${seconds}S` };
    await createSubscription(broker, subscription(`s${seconds}`), settings);
  }
  expectStatus(await broker.send('t', 'own', { TimeToLive: 25 }), 201);
  expectStatus(await broker.send('t', 'none'), 201);
  const left = async () =>
    await Promise.all(
      [10, 20, 30].map(async (seconds) => {
        const held = await broker.peekLockMany(subscription(`s${seconds}`), 10);
        for (const message of held) {
          const { LockToken } = message.broker;
          await broker.settle(subscription(`s${seconds}`), [
            { lockToken: LockToken, outcome: 'abandon' },
          ]);
        }
        return bodies(held);
      }),
    );
  assert.deepEqual(await left(), [
    ['own', 'none'],
    ['own', 'none'],
    ['own', 'none'],
  ]);
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(await left(), [[], ['own', 'none'], ['own', 'none']]);
  broker.clock.advance({ seconds: 10 });
  assert.deepEqual(await left(), [[], [], ['own', 'none']]);
  broker.clock.advance({ seconds: 5 });
  assert.deepEqual(await left(), [[], [], ['none']]);
  broker.clock.advance({ seconds: 5 });
  assert.deepEqual(await left(), [[], [], []]);
});

test('#A11 #A12 a peek shows ExpiresAtUtc only if the message was sent with a TimeToLive', async (t) => {
  const broker = await start(t, { what: '', topic: 60, seconds: 60 });
  expectStatus(await broker.send('t', 'own', { TimeToLive: 30 }), 201);
  expectStatus(await broker.send('t', 'none'), 201);
  const shown = (await broker.peek(S)).map(({ broker: { ExpiresAtUtc } }) => ExpiresAtUtc);
  assert.deepEqual(shown, [instant({ seconds: 30 }), undefined]);
});

test('#29 a dead letter of a subscription does not expire by the topic’s time to live', async (t) => {
  const broker = await start(t, { what: '', topic: 10, seconds: 10 });
  expectStatus(await broker.send('t', 'x'), 201);
  await lockAndSettle(broker, 'deadLetter', {}, S);
  broker.clock.advance({ days: 1 });
  assert.deepEqual(await drainBodies(broker, deadLettersOf(S)), ['x']);
});
