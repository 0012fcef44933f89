import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { acceptNext, acceptRaw, acceptSession, type TestSession } from '../support/test-session.ts';
import { bodies, deadLetters, having } from './queue.ts';

async function startSessions(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  const asked = { LockDuration: 'PT1M', RequiresSession: 'true', ...settings };
  expectStatus(await broker.createQueue('q', asked), 201);
  return broker;
}

async function send(broker: TestBroker, SessionId: string, ...sent: string[]): Promise<void> {
  for (const body of sent) expectStatus(await broker.send('q', body, { SessionId }), 201);
}

async function next(broker: TestBroker): Promise<TestSession> {
  const session = await acceptNext(broker, 'q');
  assert.ok(session, 'a session can be had');
  return session;
}

test('#84 a message without SessionId is refused by a queue that requires sessions', async (t) => {
  const broker = await startSessions(t);
  const answer = await broker.send('q', 'x');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /The SessionId was not set on a message, and it cannot be sent/);
});

test('#85 a session queue hands out nothing without a session', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'a', '1');
  const answer = await broker.request('POST', 'q/messages/head?timeout=0');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /It is not possible for an entity that requires sessions to create a/);
});

test('#86 a queue without sessions accepts none', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const answer = await acceptRaw(broker, 'q', 'a');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /does not require sessions to create a sessionful message receiver/);
});

test('#87 the next session is the first that nobody holds', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'a', '1');
  broker.clock.advance({ seconds: 2 });
  await send(broker, 'b', '2');
  assert.equal((await next(broker)).id, 'a');
  const b = await next(broker);
  assert.equal(b.id, 'b');
  assert.deepEqual(bodies(await b.peekLockMany(10)), ['2']);
  assert.equal(await acceptNext(broker, 'q'), undefined);
});

test('#88 a session that somebody holds cannot be accepted', async (t) => {
  const broker = await startSessions(t);
  await acceptSession(broker, 'q', 'a');
  const answer = await acceptRaw(broker, 'q', 'a');
  assert.equal(answer.status, 409);
  assert.match(answer.text, /The requested session 'a' cannot be accepted/);
});

test('#91 messages of a session come in strict order; an abandoned one comes next', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'a', '1', '2', '3');
  const session = await next(broker);
  const first = await session.peekLock();
  assert.equal(first?.body, '1');
  assert.equal(first.broker['SessionId'], 'a');
  await session.settle([having(first, 'abandon')]);
  assert.deepEqual(bodies(await session.peekLockMany(10)), ['1', '2', '3']);
  assert.deepEqual(bodies(await session.peekLockMany(10)), []);
});

test('#93 an expired session lock is lost for settling, and was a delivery', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'a', '1');
  const session = await next(broker);
  const [message] = await session.peekLockMany(1);
  assert.ok(message);
  broker.clock.advance({ seconds: 60 });
  const [outcome] = await session.settle([having(message, 'complete')]);
  assert.equal(outcome?.error?.code, 'SessionLockLost');
  const again = await next(broker);
  const [second] = await again.peekLockMany(1);
  assert.equal(second?.broker.DeliveryCount, 2);
});

test('#94 a session given back leaves delivery counts alone', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'a', '1', '2');
  for (let round = 0; round < 5; round++) {
    const session = await next(broker);
    const messages = await session.peekLockMany(2);
    assert.deepEqual(
      messages.map((m) => m.broker.DeliveryCount),
      [1, 1],
    );
    await session.release();
  }
});

test('#95 #96 the state is null at first, outlasts the lock, and can be cleared', async (t) => {
  const broker = await startSessions(t);
  const session = await acceptSession(broker, 'q', 'a');
  assert.equal(await session.state(), undefined);
  for (const state of ['small', 'x'.repeat(256 * 1024)]) {
    await session.setState(state);
    assert.equal(await session.state(), state);
  }
  await session.release();
  const again = await acceptSession(broker, 'q', 'a');
  assert.equal((await again.state())?.length, 256 * 1024);
  await again.clearState();
  assert.equal(await again.state(), undefined);
});

test('a session whose lock ends gives its used up messages to the dead-letter queue', async (t) => {
  const broker = await startSessions(t, { MaxDeliveryCount: '1' });
  await send(broker, 'a', '1');
  const session = await next(broker);
  await session.peekLockMany(1);
  broker.clock.advance({ seconds: 60 });
  assert.equal((await broker.runtimeProperties('q')).deadLetter, 1);
  assert.equal((await deadLetters(broker)).length, 1);
  assert.equal(await acceptNext(broker, 'q'), undefined);
});

test('counted units of sessions', async (t) => {
  const broker = await startSessions(t);
  await send(broker, 'warm', '0');
  const sent = await broker.units(() => send(broker, 'a', '1'));
  assert.ok(sent.write <= 3, `${sent.write}`);
  const accepted = await broker.units(() => next(broker));
  assert.ok(accepted.write <= 3, `${accepted.write}`);
  t.diagnostic(`send ${JSON.stringify(sent)}, accept ${JSON.stringify(accepted)}`);
});
