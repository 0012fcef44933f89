import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { expectStatus, fromWire } from '../../support/test-broker.ts';
import { bodies, having, numbers } from '../queues/queue.ts';
import {
  counts,
  drain,
  inSession,
  lockOne,
  PLACES,
  refusalOf,
  settleAll,
  startSessions,
} from './session-scene.ts';

for (const place of PLACES) {
  test(`#91 an abandoned message of a session comes next again (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2', '3');
    const session = await scene.next();
    const first = await lockOne(session);
    assert.deepEqual([first.body, first.broker['SessionId']], ['1', 'a']);
    await settleAll(session, [first], 'abandon');
    const again = await session.peekLockMany(10);
    assert.deepEqual(bodies(again), ['1', '2', '3']);
    assert.deepEqual(counts(again), [2, 1, 1]);
    assert.deepEqual(await session.peekLockMany(10), []);
    // Abandoned in any order, they come in the order of their numbers.
    await settleAll(session, [...again].reverse(), 'abandon');
    assert.deepEqual(await drain(session), ['1', '2', '3']);
  });

  test(`a message of a session that is abandoned with properties keeps its place (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.sendBatch(['1', '2', '3'].map((body) => inSession('a', body)));
    const session = await scene.next();
    const [, second] = await session.peekLockMany(3);
    assert.ok(second);
    await settleAll(session, [second], 'abandon', { properties: { mark: 7 } });
    const again = await lockOne(session);
    assert.deepEqual([again.body, again.broker.DeliveryCount], ['2', 2]);
    assert.deepEqual(again.properties, { mark: 7 });
    assert.equal(again.broker.SequenceNumber, second.broker.SequenceNumber);
    await session.release();
    assert.deepEqual(await drain(await scene.next()), ['1', '2', '3']);
  });

  test(`messages of a session that are abandoned with properties are not passed over, however few are read at a time (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const sent = Array.from({ length: 9 }, (_, i) => `${i}`);
    await scene.sendBatch(sent.map((body) => inSession('a', body)));
    const session = await scene.next();
    const all = await session.peekLockMany(9);
    await settleAll(session, all.slice(0, 7), 'abandon', { properties: { mark: 7 } });
    await settleAll(session, all.slice(7), 'abandon');
    const again: string[] = [];
    for (let count = 1; count < 5; count++) again.push(...bodies(await session.peekLockMany(2)));
    assert.deepEqual(again, sent.slice(0, 8));
  });

  test(`a batch over many sessions keeps the order within each, and takes numbers without a gap (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const ids = Array.from({ length: 30 }, (_, i) => `s${i % 10}${i >= 20 ? 'x' : ''}`);
    const sent = Array.from({ length: 300 }, (_, i) => inSession(ids[(i * 7) % 30] ?? '', `${i}`));
    await scene.sendBatch(sent);
    const all: number[] = [];
    for (let left = new Set(ids).size; left > 0; left--) {
      const session = await scene.next();
      const messages = await session.peekLockMany(1000);
      const expected = sent.filter((one) => one.BrokerProperties?.['SessionId'] === session.id);
      assert.deepEqual(
        bodies(messages),
        expected.map(({ Body }) => Body),
      );
      assert.deepEqual(
        numbers(messages),
        numbers(messages).sort((a, b) => a - b),
      );
      all.push(...numbers(messages));
      await settleAll(session, messages);
    }
    assert.deepEqual(
      all.sort((a, b) => a - b),
      Array.from({ length: 300 }, (_, i) => i + 1),
    );
    await scene.noneWaits();
  });

  test(`large messages of a session come whole and in order, beside small ones (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const large = () => randomBytes(45 * 1024).toString('base64');
    const sent = [large(), 'small', large(), 'small too', large()];
    await scene.send('a', ...sent);
    await scene.sendBatch([inSession('a', 'x'), inSession('b', large()), inSession('a', 'y')]);
    const session = await scene.accept('a');
    const first = await session.peekLockMany(2);
    assert.deepEqual(bodies(first), sent.slice(0, 2));
    await settleAll(session, first, 'abandon');
    assert.deepEqual(await drain(session), [...sent, 'x', 'y']);
    assert.equal((await drain(await scene.nextIs('b'))).length, 1);
  });

  test(`receive-and-delete takes from the front of a session (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2', '3', '4');
    await scene.send('b', 'other');
    const session = await scene.accept('a');
    const taken = await session.receiveAndDeleteMany(2);
    assert.deepEqual(bodies(taken), ['1', '2']);
    assert.deepEqual(
      taken.map(({ broker }) => broker.LockToken),
      [undefined, undefined],
    );
    const one = await session.request('DELETE', 'messages/head?timeout=0');
    assert.deepEqual([one.status, one.text], [200, '3']);
    assert.deepEqual(bodies(await session.receiveAndDeleteMany(10)), ['4']);
    assert.deepEqual(await session.receiveAndDeleteMany(10), []);
    assert.deepEqual(await drain(await scene.accept('b')), ['other']);
  });
}

test('one call settles messages of a session and receives the next ones', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2', '3', '4');
  const session = await scene.next();
  const [first, second] = await session.peekLockMany(2);
  assert.ok(first && second);
  const body = JSON.stringify({
    settlements: [having(first, 'complete'), having(second, 'abandon')],
  });
  const answer = await session.request('POST', 'messages/head?timeout=0&maxMessages=2', { body });
  expectStatus(answer, 200);
  const { settlements, messages } = answer.json<{
    settlements: { settled: boolean }[];
    messages: Parameters<typeof fromWire>[0][];
  }>();
  assert.deepEqual(
    settlements.map(({ settled }) => settled),
    [true, true],
  );
  const received = messages.map(fromWire);
  assert.deepEqual(bodies(received), ['2', '3']);
  assert.deepEqual(counts(received), [2, 1]);

  scene.endLocks();
  const late = await session.request('POST', 'messages/head?timeout=0&maxMessages=2', {
    body: JSON.stringify({ settlements: received.map((one) => having(one, 'complete')) }),
  });
  expectStatus(late, 200);
  const outcome = late.json<{
    settlements: { settled: boolean; error?: { code: string } }[];
    messages: unknown[];
    error?: { code: string };
  }>();
  assert.deepEqual(
    outcome.settlements.map(({ error }) => error?.code),
    ['SessionLockLost', 'SessionLockLost'],
  );
  assert.deepEqual(outcome.messages, []);
  assert.equal(outcome.error?.code, 'SessionLockLost');
  assert.deepEqual(await drain(await scene.next()), ['2', '3', '4']);
});

test('a message of a session is settled by the address of its lock', async (t) => {
  const scene = await startSessions(t);
  const { broker } = scene;
  await scene.send('a/b c', '1', '2', '3');
  const session = await scene.next();
  const first = await session.peekLock();
  assert.ok(first?.location);
  expectStatus(await broker.request('PUT', first.location), 200);
  const again = await session.peekLock();
  assert.deepEqual([again?.body, again?.broker.DeliveryCount], ['1', 2]);
  assert.ok(again?.location);
  expectStatus(await broker.request('DELETE', again.location), 200);
  assert.deepEqual(bodies(await session.peekLockMany(10)), ['2', '3']);
});

test('a waiting receive in a session gets what arrives in it, and nothing of others', async (t) => {
  const scene = await startSessions(t);
  const session = await scene.accept('a');
  const waiting = session.peekLock(60);
  await scene.send('b', 'other');
  await scene.send('a', 'mine');
  assert.equal((await waiting)?.body, 'mine');
});

test('a waiting receive in a session gets what the holder abandons', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const session = await scene.next();
  const held = await lockOne(session);
  const waiting = session.peekLock(60);
  assert.deepEqual(await session.peekLockMany(1), []);
  await settleAll(session, [held], 'abandon');
  assert.equal((await waiting)?.body, '1');
});

test('a session is not opened by the lock of another, nor its messages settled', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  await scene.send('b', '2');
  const [a, b] = [await scene.accept('a'), await scene.accept('b')];
  const mine = await lockOne(a);
  assert.equal(await refusalOf(b, mine), 'SessionLockLost');
  for (const request of ['messages/head?timeout=0', 'sessions/$renew', 'sessions/$release']) {
    const path = `q/${request}${request.includes('?') ? '&' : '?'}sessionId=a&sessionLock=${b.lock}`;
    const answer = await scene.broker.request('POST', path);
    assert.equal(answer.status, 410, request);
    assert.equal(answer.headers.get('x-dynabus-error'), 'SessionLockLost');
  }
  await settleAll(a, [mine]);
  assert.deepEqual(await drain(b), ['2']);
});

test('expired messages of a session are passed over, and dead-lettered where the queue says so', async (t) => {
  for (const flag of ['false', 'true']) {
    const scene = await startSessions(t, undefined, { DeadLetteringOnMessageExpiration: flag });
    await scene.sendBatch([
      inSession('a', 'short', { TimeToLive: 5 }),
      inSession('a', 'long'),
      inSession('gone', 'short', { TimeToLive: 5 }),
    ]);
    scene.advance({ seconds: 5 });
    const session = await scene.nextIs('a');
    assert.deepEqual(await drain(session), ['long']);
    await scene.noneWaits();
    const dead = await scene.broker.receiveAndDeleteMany(scene.dead, 10);
    assert.deepEqual(
      dead.map(({ broker }) => broker['SessionId']).sort(),
      flag === 'true' ? ['a', 'gone'] : [],
    );
  }
});

test('a message of a session that expires while it is held can be completed', async (t) => {
  const scene = await startSessions(t);
  await scene.sendBatch([inSession('a', '1', { TimeToLive: 5 }), inSession('a', '2')]);
  const session = await scene.next();
  const [first] = await session.peekLockMany(1);
  assert.ok(first);
  scene.advance({ seconds: 30 });
  await settleAll(session, [first]);
  assert.deepEqual(await drain(session), ['2']);
});
