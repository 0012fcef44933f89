import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { expectStatus } from '../../support/test-broker.ts';
import type { TestSession } from '../../support/test-session.ts';
import { bodies, numbers } from '../queues/queue.ts';
import {
  deliveryCounts,
  drain,
  ENTITIES,
  inSession,
  lockOne,
  type SessionFixture,
  settleAll,
  startSessions,
} from './session-fixture.ts';

/** Accepts a session in which the message `later` is deferred and the message `next` is active. */
async function startDeferred(fixture: SessionFixture) {
  await fixture.send('a', 'later', 'next');
  const session = await fixture.next();
  const message = await lockOne(session);
  await settleAll(session, [message], 'defer');
  return { session, number: message.broker.SequenceNumber };
}

function requestDeferred(session: TestSession, sequenceNumbers: readonly number[], mode?: string) {
  const body = JSON.stringify({ sequenceNumbers, mode });
  return session.request('POST', 'messages/$deferred', { body });
}

function requireNotFound(answer: Answer): void {
  assert.equal(answer.status, 404, answer.text);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessageNotFound');
}

for (const entity of ENTITIES) {
  test(`#68 only the holder of a session receives its deferred message by number (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { session, number } = await startDeferred(fixture);
    const other = await fixture.accept('b');
    requireNotFound(await requestDeferred(other, [number]));
    const [deferred, ...more] = await session.receiveDeferred([number]);
    assert.deepEqual(more, []);
    assert.ok(deferred);
    assert.deepEqual(
      [deferred.body, deferred.broker.State, deferred.broker.DeliveryCount],
      ['later', 'Deferred', 2],
    );
    // It is locked now, so it cannot be received again.
    requireNotFound(await requestDeferred(session, [number]));
    await settleAll(session, [deferred]);
    requireNotFound(await requestDeferred(session, [number]));
    assert.deepEqual(await drain(session), ['next']);
  });

  test(`#69 #71 the DeliveryCount of a deferred message in a session follows the general rules (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { session: first, number } = await startDeferred(fixture);
    const countOf = async (session: TestSession) => {
      const messages = await session.receiveDeferred([number]);
      return { messages, count: deliveryCounts(messages)[0] };
    };
    const abandoned = await countOf(first);
    assert.equal(abandoned.count, 2);
    await settleAll(first, abandoned.messages, 'abandon');
    assert.equal((await countOf(first)).count, 3);
    await first.release();
    const second = await fixture.accept('a');
    assert.equal((await countOf(second)).count, 3);
    fixture.endLocks();
    const third = await fixture.accept('a');
    const after = await countOf(third);
    assert.equal(after.count, 4);
    await settleAll(third, after.messages, 'defer');
    const last = await countOf(third);
    assert.equal(last.count, 5);
    await settleAll(third, last.messages, 'deadLetter', { deadLetterReason: 'enough' });
    const [dead] = await fixture.broker.peek(fixture.dead);
    assert.deepEqual([dead?.body, dead?.properties['DeadLetterReason']], ['later', 'enough']);
  });
}

test('a session that has only deferred messages can be accepted by its id, but not as the next one', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2', '3');
  const session = await fixture.next();
  const messages = await session.peekLockMany(3);
  await settleAll(session, messages, 'defer', { properties: { mark: 1 } });
  await session.release();
  await fixture.requireNone();
  const again = await fixture.accept('a');
  assert.deepEqual(await again.peekLockMany(5), []);
  const shown = await again.peek();
  assert.deepEqual(
    shown.map(({ body, broker: { State } }) => [body, State]),
    [
      ['1', 'Deferred'],
      ['2', 'Deferred'],
      ['3', 'Deferred'],
    ],
  );
  const received = await again.receiveDeferred([...numbers(shown)].reverse());
  assert.deepEqual(bodies(received), ['3', '2', '1']);
  assert.deepEqual(received[0]?.properties, { mark: 1 });
  await settleAll(again, received);
  assert.deepEqual(await again.peek(), []);
});

test('a receive by number in a session returns all of its deferred messages or none, and can delete them', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2', '3');
  await fixture.send('b', 'other');
  const session = await fixture.accept('a');
  const all = await session.peekLockMany(3);
  await settleAll(session, all.slice(0, 2), 'defer');
  const b = await fixture.accept('b');
  const foreign = await lockOne(b);
  await settleAll(b, [foreign], 'defer');
  const [one = 0, two = 0, three = 0] = numbers(all);
  for (const unavailable of [three, foreign.broker.SequenceNumber, 999]) {
    requireNotFound(await requestDeferred(session, [one, unavailable]));
  }
  const taken = await requestDeferred(session, [two, one], 'receiveAndDelete');
  expectStatus(taken, 200);
  assert.deepEqual(
    taken.json<{ Body: string }[]>().map(({ Body }) => Body),
    ['2', '1'],
  );
  requireNotFound(await requestDeferred(session, [one]));
  assert.deepEqual(bodies(await b.receiveDeferred(numbers([foreign]))), ['other']);
});

test('a deferred message of a session is received only under that session’s current lock', async (t) => {
  const fixture = await startSessions(t);
  const { session, number } = await startDeferred(fixture);
  await session.release();
  for (const attempt of [session, await fixture.accept('b')]) {
    const answer = await attempt.request('POST', 'messages/$deferred', {
      body: JSON.stringify({ sequenceNumbers: [number] }),
    });
    if (attempt === session) assert.equal(answer.status, 410);
    else requireNotFound(answer);
  }
  const nextHolder = await fixture.accept('a');
  assert.deepEqual(bodies(await nextHolder.receiveDeferred([number])), ['later']);
});

test('one call settles a message that an earlier holder deferred together with newly received ones', async (t) => {
  const fixture = await startSessions(t);
  await fixture.sendBatch(['1', '2', '3', '4'].map((body) => inSession('a', body)));
  const session = await fixture.next();
  const [first] = await session.peekLockMany(2);
  assert.ok(first);
  await settleAll(session, [first], 'defer');
  await session.release();
  const nextHolder = await fixture.next();
  const deferred = await nextHolder.receiveDeferred(numbers([first]));
  const active = await nextHolder.peekLockMany(5);
  assert.deepEqual(deliveryCounts(active), [1, 1, 1]);
  await settleAll(nextHolder, [...deferred, ...active]);
  assert.equal((await fixture.broker.runtimeProperties('q')).total, 0);
});
