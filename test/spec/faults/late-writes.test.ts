import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawSession } from '../../support/raw-session.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { acceptNext, acceptRaw, acceptSession } from '../../support/test-session.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import type { Try } from '../../support/tries-client.ts';
import { bodies } from '../queues/queue.ts';
import { start, TRIES_MAX } from './late-fixture.ts';

/**
 * Writes without an answer: the SDK repeats them, and a copy may arrive late. It must not contradict the
 * answers that clients got meanwhile.
 */

async function lockOne(broker: TestBroker): Promise<Received> {
  expectStatus(await broker.send('q', 'm'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  return message;
}

test('a renewal that arrives late does not shorten a lock that was renewed since', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  broker.clock.advance({ seconds: 1 });
  tries.next('UpdateItemCommand', ['late']);
  expectStatus(await broker.renew(message), 200);
  broker.clock.advance({ seconds: 20 });
  expectStatus(await broker.renew(message), 200);
  await tries.arrive();
  broker.clock.advance({ seconds: 29 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.complete(message), 200);
});

test('a renewal whose first answer is lost returns the new end of the lock', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  broker.clock.advance({ seconds: 1 });
  tries.next('UpdateItemCommand', ['answer-lost']);
  const answer = await broker.renew(message);
  expectStatus(answer, 200);
  const { LockedUntilUtc } = JSON.parse(answer.headers.get('brokerproperties') ?? answer.text);
  assert.equal(Date.parse(LockedUntilUtc), broker.clock.now() + 30_000);
});

test('a renewal that keeps conflicting with other writes answers 503', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  tries.next('UpdateItemCommand', Array(8).fill('conflict'));
  expectStatus(await broker.renew(message), 503);
  assert.equal(await broker.complete(message), 200);
});

test('a claim that arrives late does not lock a message again that was released since', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('q', 'm'), 201);
  const session = RawSession.root(Number(new URL(broker.api.url).port));
  t.after(() => session.raw.destroy());
  tries.next('UpdateItemCommand', ['late']);
  const locked = await session.lockOne('q');
  // A delivery with the AMQP outcome released does not count, yet the slot must not be as before the claim.
  await session.settle(locked, { kind: 'released' });
  await tries.arrive();
  const message = await broker.peekLock('q');
  assert.deepEqual([message?.body, message?.broker['DeliveryCount']], ['m', 1]);
});

test('a renewal of a session that arrives late does not shorten its lock', async (t) => {
  const { broker, tries } = await start(t);
  const session = await acceptSession(broker, 's', 'a');
  broker.clock.advance({ seconds: 1 });
  tries.next('UpdateItemCommand', ['late']);
  await session.renew();
  broker.clock.advance({ seconds: 20 });
  await session.renew();
  await tries.arrive();
  broker.clock.advance({ seconds: 29 });
  expectStatus(await acceptRaw(broker, 's', 'a'), 409);
});

test('an accept that arrives late does not lock a session that was released since', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('UpdateItemCommand', ['late']);
  // The accept is not repeated, so only its first copy can still arrive.
  expectStatus(await acceptRaw(broker, 's', 'a'), 504);
  const session = await acceptSession(broker, 's', 'a');
  await tries.arrive();
  await session.release();
  expectStatus(await acceptRaw(broker, 's', 'a'), 201);
});

test('an accept of a session succeeds although the answer to its write is lost', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('UpdateItemCommand', ['answer-lost']);
  const session = await acceptSession(broker, 's', 'a');
  await session.setState('held');
  assert.equal(await session.state(), 'held');
});

test('a session state that arrives late does not replace a later one', async (t) => {
  const { broker, tries } = await start(t);
  const session = await acceptSession(broker, 's', 'a');
  tries.next('UpdateItemCommand', ['late']);
  await session.setState('first');
  await session.setState('second');
  await tries.arrive();
  assert.equal(await session.state(), 'second');
  tries.next('UpdateItemCommand', ['late']);
  await session.setState('third');
  await session.clearState();
  await tries.arrive();
  assert.equal(await session.state(), undefined);
});

for (const delaySeconds of [undefined, 10]) {
  const how = delaySeconds === undefined ? 'an abandon' : 'an abandon with a delay';
  test(`${how} whose answer is lost is reported as settled`, async (t) => {
    const { broker, tries } = await start(t);
    const message = await lockOne(broker);
    tries.next('UpdateItemCommand', ['answer-lost']);
    const [outcome] = await broker.settle('q', [
      {
        lockToken: message.broker.LockToken,
        outcome: 'abandon',
        ...(delaySeconds === undefined ? {} : { delaySeconds }),
      },
    ]);
    assert.equal(outcome?.settled, true, outcome?.error?.message);
    broker.clock.advance({ seconds: 10 });
    assert.equal((await broker.peekLock('q'))?.broker.DeliveryCount, 2);
  });
}

test('an abandon whose answer is lost answers 504, not MessageLockLost, if another receiver has locked the message', async (t) => {
  const { broker, tries } = await start(t);
  const there = await startBroker(t, { beside: broker });
  const message = await lockOne(broker);
  tries.next('UpdateItemCommand', [
    'answer-lost',
    async () => {
      assert.ok(await there.peekLock('q'));
    },
  ]);
  assert.equal(await broker.abandon(message), 504);
});

test('a receive-and-delete whose answer is lost answers 504, not 204', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('q', 'm'), 201);
  tries.next('DeleteItemCommand', ['answer-lost']);
  expectStatus(await broker.request('DELETE', 'q/messages/head?timeout=0'), 504);
});

test('a session state is reported as stored only if it is stored, even after another process stored an earlier one', async (t) => {
  const { broker, tries } = await start(t);
  const there = await startBroker(t, { beside: broker });
  const session = await acceptSession(broker, 's', 'a');
  const state = `s/sessions/$state?${session.query}`;
  expectStatus(await there.request('PUT', state, { body: 'earlier' }), 200);
  tries.next('UpdateItemCommand', ['late']);
  await session.setState('later');
  assert.equal(await session.state(), 'later');
});

test('simultaneous changes of a session state all succeed', async (t) => {
  const { broker } = await start(t);
  const session = await acceptSession(broker, 's', 'a');
  const states = Array.from({ length: 8 }, (_, i) => `${i}`);
  await Promise.all(states.map((state) => session.setState(state)));
  assert.ok(states.includes((await session.state()) ?? ''));
});

test('a session whose release loses its answer can be accepted again', async (t) => {
  const { broker, tries } = await start(t);
  const session = await acceptSession(broker, 's', 'a');
  expectStatus(await broker.send('s', 'm', { SessionId: 'a' }), 201);
  tries.next('UpdateItemCommand', ['answer-lost']);
  await session.release();
  assert.equal((await acceptNext(broker, 's'))?.id, 'a');
});

test('a completion that arrives between its lookup and its repetition answers 504, not MessageLockLost', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  // The four attempts of the SDK, and the repetition by the broker.
  tries.next('DeleteItemCommand', ['late', 'late', 'late', 'late', 'overtaken']);
  assert.equal(await broker.complete(message), 504);
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a large publication that has begun answers 504, not a refusal, if DynamoDB throttles its steps', async (t) => {
  const { broker, tries } = await start(t);
  await createTopic(broker, 't');
  await createSubscription(broker, 't/subscriptions/s', { RequiresSession: 'true' });
  // The write that begins the publication succeeds, and its steps are throttled.
  const busy = Array<Try>(8).fill('throttled');
  tries.next('TransactWriteItemsCommand', busy);
  const batch = Array.from({ length: 51 }, (_, i) => ({
    Body: `${i}`,
    BrokerProperties: { SessionId: `${i}` },
  }));
  expectStatus(await broker.sendBatch('t', batch), 504);
  broker.clock.advance({ minutes: 2 });
  await broker.sweep();
  const session = await acceptSession(broker, 't/subscriptions/s', '50');
  assert.equal((await session.peekLock())?.body, '50');
});

test('a purge that arrives late does not remove messages that are sent seconds later', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('TransactWriteItemsCommand', Array<Try>(TRIES_MAX).fill('late'));
  await broker.post('q', '$purge', {}, 504);
  expectStatus(await broker.send('q', 'before'), 201);
  await tries.arrive();
  broker.clock.advance({ seconds: 3 });
  expectStatus(await broker.send('q', 'after'), 201);
  broker.clock.advance({ minutes: 5 });
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), ['after']);
});

test('a completion that is still in flight answers 504, not a refusal, if its repetition is throttled', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  tries.next('DeleteItemCommand', [
    ...Array<Try>(TRIES_MAX).fill('late'),
    ...Array<Try>(TRIES_MAX).fill('throttled'),
  ]);
  assert.equal(await broker.complete(message), 504);
  await tries.arrive();
  broker.clock.advance({ minutes: 5 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a receive-and-delete that is still in flight answers 504, not a refusal, if its repetition is throttled', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('q', 'm'), 201);
  tries.next('DeleteItemCommand', [
    ...Array<Try>(TRIES_MAX).fill('late'),
    ...Array<Try>(TRIES_MAX).fill('throttled'),
  ]);
  expectStatus(await broker.request('DELETE', 'q/messages/head?timeout=0'), 504);
});

test('a completion without an answer to ten commands answers 504, not a refusal', async (t) => {
  const { broker, tries } = await start(t);
  const message = await lockOne(broker);
  tries.next('DeleteItemCommand', Array<Try>(10 * TRIES_MAX).fill('late'));
  assert.equal(await broker.complete(message), 504);
  await tries.arrive();
  broker.clock.advance({ minutes: 5 });
  assert.equal(await broker.peekLock('q'), undefined);
});
