import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptNext, acceptRaw, TestSession } from '../../support/test-session.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { bodies } from '../queues/queue.ts';
import {
  drain,
  ENTITIES,
  lockOne,
  QUEUE,
  SUBSCRIPTION,
  settleAll,
  startSessions,
} from './session-fixture.ts';

const NO_SESSION_ID =
  'The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.';
const NOT_SESSIONFUL =
  'It is not possible for an entity that requires sessions to create a non-sessionful message receiver.';
const SESSIONFUL =
  'It is not possible for an entity that does not require sessions to create a sessionful message receiver';

test('#84 a session queue refuses a message without SessionId, alone and in a batch', async (t) => {
  const { broker } = await startSessions(t);
  const schedule = [
    { Body: 'x', BrokerProperties: { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37Z' } },
  ];
  for (const answer of [
    await broker.send('q', 'x'),
    await broker.sendBatch('q', [
      { Body: 'good', BrokerProperties: { SessionId: 'a' } },
      { Body: 'bad' },
    ]),
    await broker.post('q', '$schedule', schedule),
  ]) {
    assert.equal(answer.status, 400);
    assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
    assert.ok(answer.text.includes(NO_SESSION_ID), answer.text);
  }
  assert.equal(await acceptNext(broker, 'q'), undefined);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('#40 #84 a topic accepts a message without SessionId, and a session subscription dead-letters its copy', async (t) => {
  const fixture = await startSessions(t, SUBSCRIPTION);
  const { broker } = fixture;
  await createSubscription(broker, 't/subscriptions/plain', {});
  expectStatus(
    await broker.sendBatch('t', [
      { Body: 'without' },
      { Body: 'with', BrokerProperties: { SessionId: 'a' } },
    ]),
    201,
  );
  const [dead, ...others] = await broker.peekLockMany(fixture.dead, 10);
  assert.deepEqual(others, []);
  assert.equal(dead?.body, 'without');
  assert.equal(dead.properties['DeadLetterReason'], 'Session id is null.');
  assert.equal(
    dead.properties['DeadLetterErrorDescription'],
    "Session enabled entity doesn't allow a message whose session identifier is null.",
  );
  assert.deepEqual(await drain(await fixture.nextIs('a')), ['with']);
  const plain = await broker.receiveAndDeleteMany('t/subscriptions/plain', 10);
  assert.deepEqual(bodies(plain), ['without', 'with']);
});

for (const entity of ENTITIES) {
  test(`#85 a session ${entity.kind} refuses to receive without a session`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { broker, path } = fixture;
    await fixture.send('a', '1');
    for (const [method, what, body] of [
      ['POST', 'head?timeout=0', undefined],
      ['DELETE', 'head?timeout=0&maxMessages=5', undefined],
      ['POST', '$deferred', JSON.stringify({ sequenceNumbers: [1] })],
    ] as const) {
      const options = body === undefined ? {} : { body };
      const answer = await broker.request(method, `${path}/messages/${what}`, options);
      assert.equal(answer.status, 400, `${method} ${what}`);
      assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
      assert.ok(answer.text.includes(NOT_SESSIONFUL), answer.text);
    }
    assert.deepEqual(await drain(await fixture.nextIs('a')), ['1']);
  });

  test(`#87 accepting the next session of a ${entity.kind} skips the sessions that are held`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1');
    fixture.advance({ seconds: 2 });
    await fixture.send('b', '2');
    const a = await fixture.accept('a');
    const b = await fixture.nextIs('b');
    await fixture.requireNone();
    assert.deepEqual(await drain(b), ['2']);
    assert.deepEqual(await drain(a), ['1']);
  });

  test(`#88 a session of a ${entity.kind} that is held cannot be accepted until its lock ends`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1');
    const held = await fixture.accept('a');
    fixture.advance({ seconds: 59, ms: 999 });
    const answer = await fixture.acceptRaw('a');
    assert.equal(answer.status, 409);
    assert.equal(answer.headers.get('x-dynabus-error'), 'SessionCannotBeLocked');
    const sentence =
      "The requested session 'a' cannot be accepted. It may be locked by another receiver.";
    assert.ok(answer.text.includes(sentence), answer.text);
    assert.deepEqual(bodies(await held.peekLockMany(1)), ['1']);
    fixture.advance({ ms: 1 });
    await fixture.accept('a');
  });

  test(`#89 an accept on a ${entity.kind} that timed out does not hold a session that gets messages later`, async (t) => {
    const fixture = await startSessions(t, entity);
    const startedAt = performance.now();
    assert.equal(await acceptNext(fixture.broker, fixture.path, 1), undefined);
    const waitedMs = performance.now() - startedAt;
    assert.ok(waitedMs >= 950 && waitedMs < 10_000, `waited ${waitedMs} ms`);
    await fixture.send('a', '1');
    const session = await fixture.accept('a');
    assert.deepEqual(await drain(session), ['1']);
  });

  test(`#90 a session of a ${entity.kind} that has no messages can be accepted by its id`, async (t) => {
    const fixture = await startSessions(t, entity);
    const session = await fixture.accept('no-messages');
    assert.deepEqual(await session.peekLockMany(10), []);
    assert.equal(await session.peekLock(), undefined);
    assert.deepEqual(await session.peek(), []);
    await session.release();
    await fixture.requireNone();
  });

  test(`#92 a message sent to a held session of a ${entity.kind} goes to its holder only`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1');
    const holder = await fixture.next();
    assert.deepEqual(bodies(await holder.peekLockMany(10)), ['1']);
    await fixture.send('a', '2', '3');
    await fixture.requireNone();
    assert.equal((await fixture.acceptRaw('a')).status, 409);
    assert.deepEqual(bodies(await holder.peekLockMany(10)), ['2', '3']);
    await fixture.send('a', '4');
    await fixture.requireNone();
    fixture.endLocks();
    const nextHolder = await fixture.nextIs('a');
    assert.deepEqual(bodies(await nextHolder.peekLockMany(10)), ['1', '2', '3', '4']);
  });

  test(`a waiting accept on a ${entity.kind} gets the session that the next message starts`, async (t) => {
    const fixture = await startSessions(t, entity);
    const waiting = fixture.next(60);
    await fixture.requireNone();
    await fixture.send('a', '1');
    const session = await waiting;
    assert.equal(session.id, 'a');
    assert.deepEqual(await drain(session), ['1']);
  });

  test(`ten sessions of a ${entity.kind} are accepted once each, in the order of their first messages`, async (t) => {
    const fixture = await startSessions(t, entity);
    const ids = ['j', 'b', 'h', 'd', 'f', 'e', 'g', 'c', 'i', 'a'];
    for (const id of ids) {
      await fixture.send(id, `${id}1`, `${id}2`);
      fixture.advance({ seconds: 1 });
    }
    // Further messages do not change a session's position in that order.
    for (const id of [...ids].reverse()) await fixture.send(id, `${id}3`);
    const sessions: TestSession[] = [];
    for (const _ of ids) sessions.push(await fixture.next());
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ids,
    );
    await fixture.requireNone();
    for (const session of sessions) {
      const { id } = session;
      assert.deepEqual(await drain(session), [`${id}1`, `${id}2`, `${id}3`]);
    }
  });

  test(`a session of a ${entity.kind} that is released with messages goes behind the sessions that wait`, async (t) => {
    const fixture = await startSessions(t, entity);
    for (const id of ['a', 'b', 'c']) {
      await fixture.send(id, '1', '2');
      fixture.advance({ seconds: 1 });
    }
    const order: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const session = await fixture.next();
      order.push(session.id);
      await settleAll(session, [await lockOne(session)]);
      fixture.advance({ seconds: 1 });
      await session.release();
    }
    assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'c']);
    await fixture.requireNone();
  });
}

test('#86 an entity that does not require sessions refuses to accept, list or name one', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  await createTopic(broker);
  await createSubscription(broker, 't/subscriptions/s');
  expectStatus(await broker.send('q', 'x', { SessionId: 'a' }), 201);
  const lock = '00000000-0000-0000-0000-000000000000';
  for (const path of ['q', 't/subscriptions/s']) {
    for (const [method, what] of [
      ['POST', 'sessions/$accept?timeout=0'],
      ['POST', 'sessions/$accept?sessionId=a'],
      ['GET', 'sessions/$list?'],
      ['GET', 'messages?sessionId=a'],
      ['POST', `messages/head?timeout=0&sessionId=a&sessionLock=${lock}`],
      ['POST', `sessions/$renew?sessionId=a&sessionLock=${lock}`],
    ] as const) {
      const answer = await broker.request(method, `${path}/${what}`);
      assert.equal(answer.status, 400, `${method} ${path}/${what}: ${answer.text}`);
      assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
      assert.ok(answer.text.includes(SESSIONFUL), answer.text);
    }
  }
  // There a session id is only a property of the message.
  assert.equal((await broker.receiveAndDelete('q'))?.broker['SessionId'], 'a');
});

test('a waiting accept gets a session that is released, or whose lock expires', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const first = await fixture.next();
  const second = fixture.next(60);
  await fixture.requireNone();
  await first.release();
  assert.equal((await second).id, 'a');
  const third = fixture.next(60);
  await fixture.requireNone();
  fixture.endLocks();
  assert.equal((await third).id, 'a');
});

test('waiting accepts get one session each, and no two get the same one', async (t) => {
  const fixture = await startSessions(t);
  const waiting = Array.from({ length: 8 }, () => fixture.next(60));
  await fixture.requireNone();
  const ids = Array.from({ length: 8 }, (_, i) => `s${i}`);
  await fixture.sendBatch(
    ids.map((SessionId) => ({ Body: SessionId, BrokerProperties: { SessionId } })),
  );
  const accepted = await Promise.all(waiting);
  assert.deepEqual(accepted.map(({ id }) => id).sort(), ids);
});

test('a waiting accept ends with 410 when its queue is deleted', async (t) => {
  const fixture = await startSessions(t);
  const waiting = fixture.broker.request('POST', 'q/sessions/$accept?timeout=60');
  await fixture.requireNone();
  expectStatus(await fixture.broker.request('DELETE', 'q'), 200);
  const answer = await waiting;
  assert.equal(answer.status, 410);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessagingEntityNotFound');
});

test('an accept that names a held session is refused at once, without waiting', async (t) => {
  const fixture = await startSessions(t);
  await fixture.accept('a');
  const answer = await fixture.broker.request('POST', 'q/sessions/$accept?sessionId=a&timeout=60');
  assert.equal(answer.status, 409);
});

test('of eight concurrent accepts of one session one succeeds and the others are refused', async (t) => {
  const fixture = await startSessions(t, QUEUE);
  for (let round = 0; round < 5; round++) {
    const id = `s${round}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => acceptRaw(fixture.broker, 'q', id)),
    );
    const got = answers.filter(({ status }) => status === 201);
    assert.equal(got.length, 1);
    const refused = answers.filter(({ status }) => status === 409);
    assert.equal(refused.length, 7);
    const [won] = got;
    assert.ok(won);
    await new TestSession(fixture.broker, 'q', won.json()).renew();
  }
});
