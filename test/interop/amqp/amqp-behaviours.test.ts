import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  COORDINATOR,
  dataMessage,
  dataOf,
  inTransaction,
  RawSession,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** Behaviours of the reference that only AMQP has, on a clock that the tests move. */

const ACCEPTED = { kind: 'accepted' } as const;

interface Scene {
  readonly broker: TestBroker;
  connect(): RawSession;
}

async function start(t: TestContext, settings: Record<string, string> = {}): Promise<Scene> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', settings), 201);
  const connect = () => {
    const session = RawSession.root(Number(new URL(broker.api.url).port));
    t.after(() => session.raw.destroy());
    return session;
  };
  return { broker, connect };
}

const bodiesIn = async (broker: TestBroker) => (await broker.peek('q')).map(({ body }) => body);

test('#17 #B15 the lock of a broken connection is not carried over to a new link', async (t) => {
  const { broker, connect } = await start(t, { LockDuration: 'PT1M' });
  expectStatus(await broker.send('q', 'a'), 201);
  const broken = connect();
  const { name, handle } = await broken.receiver(sourceOf('q'));
  broken.credit(handle, 1);
  const { deliveryId: first = 0 } = await broken.raw.hear('transfer');
  broken.raw.destroy();
  await broken.raw.hear('ended');

  const again = connect();
  const link = await again.receiver(sourceOf('q'), { name });
  again.raw.say({ kind: 'disposition', role: 'receiver', first, settled: false, state: ACCEPTED });
  again.credit(link.handle, 1);
  broker.clock.advance({ seconds: 61 });
  const redelivered = await again.raw.hear('transfer');
  assert.equal(dataOf(redelivered.payload), 'a');
  const settled = await again.settle(redelivered.deliveryId ?? -1, ACCEPTED);
  assert.equal(settled.state?.kind, 'accepted');
  assert.deepEqual(await bodiesIn(broker), []);
});

const NO_MESSAGE = Buffer.from('not a message');

/** Sends without waiting for the outcome. */
function say(session: RawSession, handle: number, deliveryId: number, payload: Uint8Array): void {
  const deliveryTag = Buffer.of(deliveryId);
  session.raw.say({ kind: 'transfer', handle, deliveryId, deliveryTag }, 0, payload);
}

test('#B3 sends do not wait for one another, and each gets its own outcome', async (t) => {
  const { broker, connect } = await start(t);
  const session = connect();
  const sender = await session.sender(targetOf('q'));
  const isGood = (id: number) => id % 20 !== 19;
  for (let id = 0; id < 60; id++) {
    say(session, sender, id, isGood(id) ? dataMessage(`${id}`) : NO_MESSAGE);
  }
  const outcomes = new Map<number, string | undefined>();
  while (outcomes.size < 60) {
    const { first, last = first, state } = await session.raw.hear('disposition');
    for (let id = first; id <= last; id++) {
      assert.ok(!outcomes.has(id), `${id} has two outcomes`);
      outcomes.set(id, state?.kind);
    }
  }
  for (const [id, kind] of outcomes) assert.equal(kind, isGood(id) ? 'accepted' : 'rejected');
  assert.equal((await bodiesIn(broker)).length, 57);
});

test('#B4 a presettled transfer is stored, and gets no disposition', async (t) => {
  const { broker, connect } = await start(t);
  const session = connect();
  const sender = await session.sender(targetOf('q'));
  await session.send(sender, dataMessage('silent'), { settled: true });
  await session.send(sender, NO_MESSAGE, { settled: true });
  say(session, sender, 2, dataMessage('asked'));
  const heard = await session.raw.hear('disposition');
  assert.deepEqual([heard.first, heard.last ?? heard.first], [2, 2]);
  assert.deepEqual(await bodiesIn(broker), ['silent', 'asked']);
});

test('#131 a transaction older than two minutes is rolled back', async (t) => {
  const { broker, connect } = await start(t, { LockDuration: 'PT5M' });
  expectStatus(await broker.send('q', 'held'), 201);
  const session = connect();
  const coordinator = await session.sender(COORDINATOR);
  const sender = await session.sender(targetOf('q'));
  const held = await session.lockOne('q');
  const id = await session.declare(coordinator);
  await session.send(sender, dataMessage('new'), { state: inTransaction(id) });
  await session.settle(held, { kind: 'transactional', transaction: id, outcome: ACCEPTED });
  broker.time.skip(2 * 60_000 + 1);
  const late = await session.discharge(coordinator, id, false);
  assert.ok(late?.kind === 'rejected');
  assert.equal(late.error?.condition, 'amqp:transaction:unknown-id');
  assert.deepEqual(await bodiesIn(broker), ['held']);
  // The lock is unchanged.
  assert.equal((await session.settle(held, ACCEPTED)).state?.kind, 'accepted');
  assert.deepEqual(await bodiesIn(broker), []);
});
