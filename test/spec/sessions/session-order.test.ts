import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { expectStatus, fromWire } from '../../support/test-broker.ts';
import { bodies, numbers, settlementOf } from '../queues/queue.ts';
import {
  deliveryCounts,
  drain,
  ENTITIES,
  inSession,
  lockOne,
  settleAll,
  settleError,
  startSessions,
} from './session-fixture.ts';

for (const entity of ENTITIES) {
  test(`#91 an abandoned message of a session is the next one to be delivered (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2', '3');
    const session = await fixture.next();
    const first = await lockOne(session);
    assert.deepEqual([first.body, first.broker['SessionId']], ['1', 'a']);
    await settleAll(session, [first], 'abandon');
    const again = await session.peekLockMany(10);
    assert.deepEqual(bodies(again), ['1', '2', '3']);
    assert.deepEqual(deliveryCounts(again), [2, 1, 1]);
    assert.deepEqual(await session.peekLockMany(10), []);
    // Messages abandoned in any order are delivered in the order of their sequence numbers.
    await settleAll(session, [...again].reverse(), 'abandon');
    assert.deepEqual(await drain(session), ['1', '2', '3']);
  });

  test(`a message of a session that is abandoned with changed properties keeps its position (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.sendBatch(['1', '2', '3'].map((body) => inSession('a', body)));
    const session = await fixture.next();
    const [, second] = await session.peekLockMany(3);
    assert.ok(second);
    await settleAll(session, [second], 'abandon', { properties: { mark: 7 } });
    const again = await lockOne(session);
    assert.deepEqual([again.body, again.broker.DeliveryCount], ['2', 2]);
    assert.deepEqual(again.properties, { mark: 7 });
    assert.equal(again.broker.SequenceNumber, second.broker.SequenceNumber);
    await session.release();
    assert.deepEqual(await drain(await fixture.next()), ['1', '2', '3']);
  });

  test(`small receives in a session skip no message that was abandoned with changed properties (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const sent = Array.from({ length: 9 }, (_, i) => `${i}`);
    await fixture.sendBatch(sent.map((body) => inSession('a', body)));
    const session = await fixture.next();
    const all = await session.peekLockMany(9);
    await settleAll(session, all.slice(0, 7), 'abandon', { properties: { mark: 7 } });
    await settleAll(session, all.slice(7), 'abandon');
    const again: string[] = [];
    for (let count = 1; count < 5; count++) again.push(...bodies(await session.peekLockMany(2)));
    assert.deepEqual(again, sent.slice(0, 8));
  });

  test(`a batch for many sessions keeps the order in each, and its sequence numbers have no gap (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const ids = Array.from({ length: 30 }, (_, i) => `s${i % 10}${i >= 20 ? 'x' : ''}`);
    const sent = Array.from({ length: 300 }, (_, i) => inSession(ids[(i * 7) % 30] ?? '', `${i}`));
    await fixture.sendBatch(sent);
    const all: number[] = [];
    for (let left = new Set(ids).size; left > 0; left--) {
      const session = await fixture.next();
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
    await fixture.requireNone();
  });

  test(`large and small messages of a session are delivered complete and in order (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const large = () => randomBytes(45 * 1024).toString('base64');
    const sent = [large(), 'small', large(), 'small too', large()];
    await fixture.send('a', ...sent);
    await fixture.sendBatch([inSession('a', 'x'), inSession('b', large()), inSession('a', 'y')]);
    const session = await fixture.accept('a');
    const first = await session.peekLockMany(2);
    assert.deepEqual(bodies(first), sent.slice(0, 2));
    await settleAll(session, first, 'abandon');
    assert.deepEqual(await drain(session), [...sent, 'x', 'y']);
    assert.equal((await drain(await fixture.nextIs('b'))).length, 1);
  });

  test(`receive-and-delete returns the first messages of a session (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2', '3', '4');
    await fixture.send('b', 'other');
    const session = await fixture.accept('a');
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
    assert.deepEqual(await drain(await fixture.accept('b')), ['other']);
  });
}

test('one call settles messages of a session and receives the next ones', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2', '3', '4');
  const session = await fixture.next();
  const [first, second] = await session.peekLockMany(2);
  assert.ok(first && second);
  const body = JSON.stringify({
    settlements: [settlementOf(first, 'complete'), settlementOf(second, 'abandon')],
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
  assert.deepEqual(deliveryCounts(received), [2, 1]);

  fixture.endLocks();
  const late = await session.request('POST', 'messages/head?timeout=0&maxMessages=2', {
    body: JSON.stringify({ settlements: received.map((one) => settlementOf(one, 'complete')) }),
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
  assert.deepEqual(await drain(await fixture.next()), ['2', '3', '4']);
});

test('a message of a session can be settled at its lock’s URL', async (t) => {
  const fixture = await startSessions(t);
  const { broker } = fixture;
  await fixture.send('a/b c', '1', '2', '3');
  const session = await fixture.next();
  const first = await session.peekLock();
  assert.ok(first?.location);
  expectStatus(await broker.request('PUT', first.location), 200);
  const again = await session.peekLock();
  assert.deepEqual([again?.body, again?.broker.DeliveryCount], ['1', 2]);
  assert.ok(again?.location);
  expectStatus(await broker.request('DELETE', again.location), 200);
  assert.deepEqual(bodies(await session.peekLockMany(10)), ['2', '3']);
});

test('a waiting receive in a session gets the next message of this session, not of others', async (t) => {
  const fixture = await startSessions(t);
  const session = await fixture.accept('a');
  const waiting = session.peekLock(60);
  await fixture.send('b', 'other');
  await fixture.send('a', 'mine');
  assert.equal((await waiting)?.body, 'mine');
});

test('a waiting receive in a session gets a message that the holder abandons', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const session = await fixture.next();
  const held = await lockOne(session);
  const waiting = session.peekLock(60);
  assert.deepEqual(await session.peekLockMany(1), []);
  await settleAll(session, [held], 'abandon');
  assert.equal((await waiting)?.body, '1');
});

test('the lock of one session neither receives nor settles messages of another', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  await fixture.send('b', '2');
  const [a, b] = [await fixture.accept('a'), await fixture.accept('b')];
  const mine = await lockOne(a);
  assert.equal(await settleError(b, mine), 'SessionLockLost');
  for (const request of ['messages/head?timeout=0', 'sessions/$renew', 'sessions/$release']) {
    const path = `q/${request}${request.includes('?') ? '&' : '?'}sessionId=a&sessionLock=${b.lock}`;
    const answer = await fixture.broker.request('POST', path);
    assert.equal(answer.status, 410, request);
    assert.equal(answer.headers.get('x-dynabus-error'), 'SessionLockLost');
  }
  await settleAll(a, [mine]);
  assert.deepEqual(await drain(b), ['2']);
});

test('expired messages of a session are skipped, and dead-lettered if the queue is set to do so', async (t) => {
  for (const flag of ['false', 'true']) {
    const fixture = await startSessions(t, undefined, { DeadLetteringOnMessageExpiration: flag });
    await fixture.sendBatch([
      inSession('a', 'short', { TimeToLive: 5 }),
      inSession('a', 'long'),
      inSession('gone', 'short', { TimeToLive: 5 }),
    ]);
    fixture.advance({ seconds: 5 });
    const session = await fixture.nextIs('a');
    assert.deepEqual(await drain(session), ['long']);
    await fixture.requireNone();
    const dead = await fixture.broker.receiveAndDeleteMany(fixture.dead, 10);
    assert.deepEqual(
      dead.map(({ broker }) => broker['SessionId']).sort(),
      flag === 'true' ? ['a', 'gone'] : [],
    );
  }
});

test('a message of a session that expires while it is locked can be completed', async (t) => {
  const fixture = await startSessions(t);
  await fixture.sendBatch([inSession('a', '1', { TimeToLive: 5 }), inSession('a', '2')]);
  const session = await fixture.next();
  const [first] = await session.peekLockMany(1);
  assert.ok(first);
  fixture.advance({ seconds: 30 });
  await settleAll(session, [first]);
  assert.deepEqual(await drain(session), ['2']);
});
