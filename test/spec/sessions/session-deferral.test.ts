import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { expectStatus } from '../../support/test-broker.ts';
import type { TestSession } from '../../support/test-session.ts';
import { bodies, numbers } from '../queues/queue.ts';
import {
  counts,
  drain,
  inSession,
  lockOne,
  PLACES,
  type SessionScene,
  settleAll,
  startSessions,
} from './session-scene.ts';

/** A session in which the message `later` was deferred, and `next` waits. */
async function startDeferred(scene: SessionScene) {
  await scene.send('a', 'later', 'next');
  const session = await scene.next();
  const message = await lockOne(session);
  await settleAll(session, [message], 'defer');
  return { session, number: message.broker.SequenceNumber };
}

function ask(session: TestSession, sequenceNumbers: readonly number[], mode?: string) {
  const body = JSON.stringify({ sequenceNumbers, mode });
  return session.request('POST', 'messages/$deferred', { body });
}

function requireNotFound(answer: Answer): void {
  assert.equal(answer.status, 404, answer.text);
  assert.equal(answer.headers.get('x-dynabus-error'), 'MessageNotFound');
}

for (const place of PLACES) {
  test(`#68 a deferred message of a session comes by its number to the holder only (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const { session, number } = await startDeferred(scene);
    const other = await scene.accept('b');
    requireNotFound(await ask(other, [number]));
    const [deferred, ...more] = await session.receiveDeferred([number]);
    assert.deepEqual(more, []);
    assert.ok(deferred);
    assert.deepEqual(
      [deferred.body, deferred.broker.State, deferred.broker.DeliveryCount],
      ['later', 'Deferred', 2],
    );
    // Held now, so it cannot be had again.
    requireNotFound(await ask(session, [number]));
    await settleAll(session, [deferred]);
    requireNotFound(await ask(session, [number]));
    assert.deepEqual(await drain(session), ['next']);
  });

  test(`#69 #71 counts of deferred messages of a session follow the rules of others (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const { session: first, number } = await startDeferred(scene);
    const countOf = async (session: TestSession) => {
      const messages = await session.receiveDeferred([number]);
      return { messages, count: counts(messages)[0] };
    };
    const abandoned = await countOf(first);
    assert.equal(abandoned.count, 2);
    await settleAll(first, abandoned.messages, 'abandon');
    assert.equal((await countOf(first)).count, 3);
    await first.release();
    const second = await scene.accept('a');
    assert.equal((await countOf(second)).count, 3);
    scene.endLocks();
    const third = await scene.accept('a');
    const after = await countOf(third);
    assert.equal(after.count, 4);
    await settleAll(third, after.messages, 'defer');
    const last = await countOf(third);
    assert.equal(last.count, 5);
    await settleAll(third, last.messages, 'deadLetter', { deadLetterReason: 'enough' });
    const [dead] = await scene.broker.peek(scene.dead);
    assert.deepEqual([dead?.body, dead?.properties['DeadLetterReason']], ['later', 'enough']);
  });
}

test('a session with deferred messages only waits for nobody, and is there by its name', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2', '3');
  const session = await scene.next();
  const messages = await session.peekLockMany(3);
  await settleAll(session, messages, 'defer', { properties: { mark: 1 } });
  await session.release();
  await scene.noneWaits();
  const again = await scene.accept('a');
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

test('deferred messages of a session come all or none, and are received and deleted by number', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2', '3');
  await scene.send('b', 'other');
  const session = await scene.accept('a');
  const all = await session.peekLockMany(3);
  await settleAll(session, all.slice(0, 2), 'defer');
  const b = await scene.accept('b');
  const foreign = await lockOne(b);
  await settleAll(b, [foreign], 'defer');
  const [one = 0, two = 0, three = 0] = numbers(all);
  for (const unfit of [three, foreign.broker.SequenceNumber, 999]) {
    requireNotFound(await ask(session, [one, unfit]));
  }
  const taken = await ask(session, [two, one], 'receiveAndDelete');
  expectStatus(taken, 200);
  assert.deepEqual(
    taken.json<{ Body: string }[]>().map(({ Body }) => Body),
    ['2', '1'],
  );
  requireNotFound(await ask(session, [one]));
  assert.deepEqual(bodies(await b.receiveDeferred(numbers([foreign]))), ['other']);
});

test('a deferred message of a session needs its lock, and no lock but the live one', async (t) => {
  const scene = await startSessions(t);
  const { session, number } = await startDeferred(scene);
  await session.release();
  for (const attempt of [session, await scene.accept('b')]) {
    const answer = await attempt.request('POST', 'messages/$deferred', {
      body: JSON.stringify({ sequenceNumbers: [number] }),
    });
    if (attempt === session) assert.equal(answer.status, 410);
    else requireNotFound(answer);
  }
  const heir = await scene.accept('a');
  assert.deepEqual(bodies(await heir.receiveDeferred([number])), ['later']);
});

test('what was deferred by one holder is settled in one call with what the next one received', async (t) => {
  const scene = await startSessions(t);
  await scene.sendBatch(['1', '2', '3', '4'].map((body) => inSession('a', body)));
  const session = await scene.next();
  const [first] = await session.peekLockMany(2);
  assert.ok(first);
  await settleAll(session, [first], 'defer');
  await session.release();
  const heir = await scene.next();
  const deferred = await heir.receiveDeferred(numbers([first]));
  const active = await heir.peekLockMany(5);
  assert.deepEqual(counts(active), [1, 1, 1]);
  await settleAll(heir, [...deferred, ...active]);
  assert.equal((await scene.broker.runtimeProperties('q')).total, 0);
});
