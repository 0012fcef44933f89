import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptNext, acceptRaw, TestSession } from '../../support/test-session.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { bodies } from '../queues/queue.ts';
import {
  drain,
  lockOne,
  PLACES,
  QUEUE,
  SUBSCRIPTION,
  settleAll,
  startSessions,
} from './session-scene.ts';

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

test('#40 #84 a topic takes a message without SessionId, and a session subscription dead-letters its copy', async (t) => {
  const scene = await startSessions(t, SUBSCRIPTION);
  const { broker } = scene;
  await createSubscription(broker, 't/subscriptions/plain', {});
  expectStatus(
    await broker.sendBatch('t', [
      { Body: 'without' },
      { Body: 'with', BrokerProperties: { SessionId: 'a' } },
    ]),
    201,
  );
  const [dead, ...others] = await broker.peekLockMany(scene.dead, 10);
  assert.deepEqual(others, []);
  assert.equal(dead?.body, 'without');
  assert.equal(dead.properties['DeadLetterReason'], 'Session id is null.');
  assert.equal(
    dead.properties['DeadLetterErrorDescription'],
    "Session enabled entity doesn't allow a message whose session identifier is null.",
  );
  assert.deepEqual(await drain(await scene.nextIs('a')), ['with']);
  const plain = await broker.receiveAndDeleteMany('t/subscriptions/plain', 10);
  assert.deepEqual(bodies(plain), ['without', 'with']);
});

for (const place of PLACES) {
  test(`#85 a session ${place.what} hands out nothing without a session`, async (t) => {
    const scene = await startSessions(t, place);
    const { broker, path } = scene;
    await scene.send('a', '1');
    for (const [method, what, body] of [
      ['POST', 'head?timeout=0', undefined],
      ['DELETE', 'head?timeout=0&maxMessages=5', undefined],
      ['POST', '$deferred', JSON.stringify({ sequenceNumbers: [1] })],
      ['GET', '', undefined],
    ] as const) {
      const options = body === undefined ? {} : { body };
      const answer = await broker.request(method, `${path}/messages/${what}`, options);
      assert.equal(answer.status, 400, `${method} ${what}`);
      assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
      assert.ok(answer.text.includes(NOT_SESSIONFUL), answer.text);
    }
    assert.deepEqual(await drain(await scene.nextIs('a')), ['1']);
  });

  test(`#87 accept next on a ${place.what} passes over held sessions`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1');
    scene.advance({ seconds: 2 });
    await scene.send('b', '2');
    const a = await scene.accept('a');
    const b = await scene.nextIs('b');
    await scene.noneWaits();
    assert.deepEqual(await drain(b), ['2']);
    assert.deepEqual(await drain(a), ['1']);
  });

  test(`#88 a held session of a ${place.what} cannot be accepted until its lock ends`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1');
    const held = await scene.accept('a');
    scene.advance({ seconds: 59, ms: 999 });
    const answer = await scene.acceptRaw('a');
    assert.equal(answer.status, 409);
    assert.equal(answer.headers.get('x-dynabus-error'), 'SessionCannotBeLocked');
    const sentence =
      "The requested session 'a' cannot be accepted. It may be locked by another receiver.";
    assert.ok(answer.text.includes(sentence), answer.text);
    assert.deepEqual(bodies(await held.peekLockMany(1)), ['1']);
    scene.advance({ ms: 1 });
    await scene.accept('a');
  });

  test(`#89 an accept on a ${place.what} that timed out holds nothing later`, async (t) => {
    const scene = await startSessions(t, place);
    const startedAt = performance.now();
    assert.equal(await acceptNext(scene.broker, scene.path, 1), undefined);
    const waitedMs = performance.now() - startedAt;
    assert.ok(waitedMs >= 950 && waitedMs < 10_000, `waited ${waitedMs} ms`);
    await scene.send('a', '1');
    const session = await scene.accept('a');
    assert.deepEqual(await drain(session), ['1']);
  });

  test(`#90 a session of a ${place.what} without messages can be accepted, and is empty`, async (t) => {
    const scene = await startSessions(t, place);
    const session = await scene.accept('nobody-wrote');
    assert.deepEqual(await session.peekLockMany(10), []);
    assert.equal(await session.peekLock(), undefined);
    assert.deepEqual(await session.peek(), []);
    await session.release();
    await scene.noneWaits();
  });

  test(`#92 what is sent into a held session of a ${place.what} goes to its holder only`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1');
    const holder = await scene.next();
    assert.deepEqual(bodies(await holder.peekLockMany(10)), ['1']);
    await scene.send('a', '2', '3');
    await scene.noneWaits();
    assert.equal((await scene.acceptRaw('a')).status, 409);
    assert.deepEqual(bodies(await holder.peekLockMany(10)), ['2', '3']);
    await scene.send('a', '4');
    await scene.noneWaits();
    scene.endLocks();
    const heir = await scene.nextIs('a');
    assert.deepEqual(bodies(await heir.peekLockMany(10)), ['1', '2', '3', '4']);
  });

  test(`an accept that waits at a ${place.what} gets the session that a message brings to life`, async (t) => {
    const scene = await startSessions(t, place);
    const waiting = scene.next(60);
    await scene.noneWaits();
    await scene.send('a', '1');
    const session = await waiting;
    assert.equal(session.id, 'a');
    assert.deepEqual(await drain(session), ['1']);
  });

  test(`ten sessions of a ${place.what} are had once each, in the order in which they began to wait`, async (t) => {
    const scene = await startSessions(t, place);
    const ids = ['j', 'b', 'h', 'd', 'f', 'e', 'g', 'c', 'i', 'a'];
    for (const id of ids) {
      await scene.send(id, `${id}1`, `${id}2`);
      scene.advance({ seconds: 1 });
    }
    // Further messages do not send a session back, nor bring it forward.
    for (const id of [...ids].reverse()) await scene.send(id, `${id}3`);
    const sessions: TestSession[] = [];
    for (const _ of ids) sessions.push(await scene.next());
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ids,
    );
    await scene.noneWaits();
    for (const session of sessions) {
      const { id } = session;
      assert.deepEqual(await drain(session), [`${id}1`, `${id}2`, `${id}3`]);
    }
  });

  test(`a session of a ${place.what} that is given back with messages goes behind those that wait`, async (t) => {
    const scene = await startSessions(t, place);
    for (const id of ['a', 'b', 'c']) {
      await scene.send(id, '1', '2');
      scene.advance({ seconds: 1 });
    }
    const order: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const session = await scene.next();
      order.push(session.id);
      await settleAll(session, [await lockOne(session)]);
      scene.advance({ seconds: 1 });
      await session.release();
    }
    assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'c']);
    await scene.noneWaits();
  });
}

test('#86 where no sessions are required none is accepted, listed or named', async (t) => {
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
  // A session id is only a property there.
  assert.equal((await broker.receiveAndDelete('q'))?.broker['SessionId'], 'a');
});

test('an accept that waits gets a session that is given back, or whose lock runs out', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const first = await scene.next();
  const second = scene.next(60);
  await scene.noneWaits();
  await first.release();
  assert.equal((await second).id, 'a');
  const third = scene.next(60);
  await scene.noneWaits();
  scene.endLocks();
  assert.equal((await third).id, 'a');
});

test('waiting accepts get one session each, and no session two of them', async (t) => {
  const scene = await startSessions(t);
  const waiting = Array.from({ length: 8 }, () => scene.next(60));
  await scene.noneWaits();
  const ids = Array.from({ length: 8 }, (_, i) => `s${i}`);
  await scene.sendBatch(
    ids.map((SessionId) => ({ Body: SessionId, BrokerProperties: { SessionId } })),
  );
  const accepted = await Promise.all(waiting);
  assert.deepEqual(accepted.map(({ id }) => id).sort(), ids);
});

test('a waiting accept ends with its queue', async (t) => {
  const scene = await startSessions(t);
  const waiting = scene.broker.request('POST', 'q/sessions/$accept?timeout=60');
  await scene.noneWaits();
  expectStatus(await scene.broker.request('DELETE', 'q'), 200);
  const answer = await waiting;
  assert.equal(answer.status, 410);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessagingEntityNotFound');
});

test('who names a session does not wait for it', async (t) => {
  const scene = await startSessions(t);
  await scene.accept('a');
  const answer = await scene.broker.request('POST', 'q/sessions/$accept?sessionId=a&timeout=60');
  assert.equal(answer.status, 409);
});

test('two accepts of one session at once: one has it, the other does not', async (t) => {
  const scene = await startSessions(t, QUEUE);
  for (let round = 0; round < 5; round++) {
    const id = `s${round}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => acceptRaw(scene.broker, 'q', id)),
    );
    const got = answers.filter(({ status }) => status === 201);
    assert.equal(got.length, 1);
    const refused = answers.filter(({ status }) => status === 409);
    assert.equal(refused.length, 7);
    const [won] = got;
    assert.ok(won);
    await new TestSession(scene.broker, 'q', won.json()).renew();
  }
});
