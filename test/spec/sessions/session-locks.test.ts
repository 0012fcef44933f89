import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodies, settlementOf } from '../queues/queue.ts';
import {
  deliveryCounts,
  drain,
  ENTITIES,
  LOCK_SECONDS,
  lockOne,
  type SessionFixture,
  settleAll,
  settleError,
  startSessions,
} from './session-fixture.ts';

const OUTCOMES = ['complete', 'abandon', 'defer', 'deadLetter'] as const;

for (const entity of ENTITIES) {
  test(`a waiting receive returns no message when its session’s lock expires (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    for (const method of ['POST', 'DELETE']) {
      const session = await fixture.accept('a');
      const waiting = session.request(method, 'messages/head?timeout=1');
      // These calls give the waiting receive time to look for messages once.
      for (let round = 0; round < 3; round++) assert.deepEqual(await session.peekLockMany(1), []);
      fixture.broker.clock.advance({ seconds: 60 });
      assert.equal((await waiting).status, 204);
      // The next receive is refused.
      assert.equal((await session.request(method, 'messages/head?timeout=1')).status, 410);
    }
  });

  test(`#93 after a session lock expired every operation is refused, and what was locked counts as delivered (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2', '3', '4', '5');
    const session = await fixture.next();
    const held = await session.peekLockMany(4);
    await session.setState('kept');
    fixture.advance({ seconds: 59, ms: 999 });
    const [first, ...rest] = held;
    assert.ok(first);
    await settleAll(session, [first]);
    fixture.advance({ ms: 1 });
    for (const [i, message] of rest.entries()) {
      assert.equal(await settleError(session, message, OUTCOMES[i]), 'SessionLockLost');
    }
    for (const [method, path] of [
      ['POST', 'messages/head?timeout=0'],
      ['DELETE', 'messages/head?timeout=0'],
      ['POST', 'sessions/$renew'],
      ['POST', 'sessions/$release'],
      ['GET', 'sessions/$state'],
      ['PUT', 'sessions/$state'],
      ['DELETE', 'sessions/$state'],
    ] as const) {
      const answer = await session.request(method, path);
      assert.equal(answer.status, 410, `${method} ${path}: ${answer.text}`);
      assert.equal(answer.headers.get('x-dynabus-error'), 'SessionLockLost');
    }
    const nextHolder = await fixture.nextIs('a');
    assert.equal(await nextHolder.state(), 'kept');
    const again = await nextHolder.peekLockMany(10);
    assert.deepEqual(bodies(again), ['2', '3', '4', '5']);
    assert.deepEqual(deliveryCounts(again), [2, 2, 2, 1]);
    // The new lock does not revive the old one.
    assert.equal(await settleError(session, rest[0] ?? first), 'SessionLockLost');
    assert.equal(await settleError(nextHolder, rest[0] ?? first), 'SessionLockLost');
    await settleAll(nextHolder, again);
  });

  test(`#94 releasing a session does not raise the DeliveryCount of its messages (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity, { MaxDeliveryCount: '2' });
    await fixture.send('a', '1', '2', '3');
    for (let round = 0; round < 20; round++) {
      const session = await fixture.nextIs('a');
      const messages = await session.peekLockMany((round % 3) + 1);
      assert.deepEqual(deliveryCounts(messages), Array((round % 3) + 1).fill(1), `round ${round}`);
      await session.release();
      assert.equal(await settleError(session, messages[0] ?? assert.fail()), 'SessionLockLost');
    }
    assert.deepEqual(await drain(await fixture.next()), ['1', '2', '3']);
    assert.deepEqual(await fixture.broker.peek(fixture.dead), []);
  });

  test(`#94 releasing a session does not raise the DeliveryCount that a receive-and-delete shows (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2');
    const holder = await fixture.next();
    await holder.peekLockMany(1);
    await holder.release();
    const removed = await (await fixture.nextIs('a')).receiveAndDeleteMany(2);
    assert.deepEqual(deliveryCounts(removed), [1, 1]);
  });

  test(`a renewal extends the session lock by LockDuration, and the message locks with it (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2');
    const session = await fixture.next();
    const held = await session.peekLockMany(1);
    for (let i = 0; i < 4; i++) {
      fixture.advance({ seconds: LOCK_SECONDS - 1 });
      const until = Date.parse(await session.renew());
      assert.equal(until, fixture.broker.clock.now() + LOCK_SECONDS * 1000);
    }
    fixture.advance({ seconds: LOCK_SECONDS - 1 });
    await fixture.requireNone();
    // Without the renewals its lock would have expired minutes ago.
    await settleAll(session, held);
    const second = await lockOne(session);
    assert.equal(second.broker.DeliveryCount, 1);
    await settleAll(session, [second], 'abandon');
    assert.equal((await lockOne(session)).broker.DeliveryCount, 2);
    fixture.advance({ seconds: 1 });
    assert.deepEqual(bodies(await (await fixture.next()).peekLockMany(5)), ['2']);
  });

  test(`#14 an update of a ${entity.kind} ends the locks of its sessions at once`, async (t) => {
    const fixture = await startSessions(t, entity);
    for (const id of ['a', 'b']) await fixture.send(id, `${id}1`, `${id}2`);
    const sessions = [await fixture.next(), await fixture.next()];
    const [held] = await Promise.all(sessions.map(lockOne));
    assert.ok(held);
    await fixture.update({ MaxDeliveryCount: '9' });
    for (const session of sessions) {
      const answer = await session.request('POST', 'messages/head?timeout=0');
      assert.equal(answer.status, 410);
      assert.equal((await session.request('POST', 'sessions/$renew')).status, 410);
    }
    assert.equal(await settleError(sessions[0] ?? assert.fail(), held), 'SessionLockLost');
    const found = [await fixture.next(), await fixture.next()];
    assert.deepEqual(found.map(({ id }) => id).sort(), ['a', 'b']);
    await fixture.requireNone();
    for (const session of found) {
      const messages = await session.peekLockMany(5);
      assert.deepEqual(bodies(messages), [`${session.id}1`, `${session.id}2`]);
      assert.deepEqual(deliveryCounts(messages), [2, 1]);
      await settleAll(session, messages);
    }
  });
}

/** Receives the message `bad` again and again, each time left in the given way; returns the deliveries. */
async function exhaust(
  fixture: SessionFixture,
  leave: 'expire' | 'release' | 'abandon' | 'abandonWithProperties' | 'update',
): Promise<number> {
  for (let deliveries = 0; deliveries < 6; deliveries++) {
    const session = await fixture.accept('a');
    const [message] = await session.peekLockMany(1);
    if (message?.body !== 'bad') return deliveries;
    if (leave === 'expire') fixture.endLocks();
    if (leave === 'update') await fixture.update({ MaxDeliveryCount: '3' });
    if (leave === 'abandon') await settleAll(session, [message], 'abandon');
    if (leave === 'abandonWithProperties') {
      await settleAll(session, [message], 'abandon', { properties: { deliveries } });
    }
    if (leave === 'release' || leave.startsWith('abandon')) await session.release();
  }
  return Number.POSITIVE_INFINITY;
}

for (const [leave, deliveries] of [
  ['expire', 3],
  ['update', 3],
  ['abandon', 3],
  ['abandonWithProperties', 3],
  ['release', Number.POSITIVE_INFINITY],
] as const) {
  test(`with MaxDeliveryCount 3 a message of a session left by ${leave} is delivered ${deliveries} times`, async (t) => {
    const fixture = await startSessions(t, undefined, { MaxDeliveryCount: '3' });
    await fixture.send('a', 'bad', 'good');
    assert.equal(await exhaust(fixture, leave), deliveries);
    fixture.endLocks();
    const [dead] = await fixture.broker.peekLockMany(fixture.dead, 10);
    if (deliveries === Number.POSITIVE_INFINITY) {
      assert.equal(dead, undefined);
      return;
    }
    assert.deepEqual([dead?.body, dead?.broker.DeliveryCount], ['bad', 4]);
    assert.equal(dead?.broker['SessionId'], 'a');
    assert.equal(dead?.properties['DeadLetterReason'], 'MaxDeliveryCountExceeded');
    assert.equal(
      dead?.properties['DeadLetterErrorDescription'],
      'Message could not be consumed after 3 delivery attempts.',
    );
  });
}

test('a message whose last delivery lapses is dead-lettered although no receiver accepts its session', async (t) => {
  const fixture = await startSessions(t, undefined, { MaxDeliveryCount: '1' });
  await fixture.send('a', '1');
  await fixture.send('b', '2');
  await lockOne(await fixture.accept('a'));
  await lockOne(await fixture.accept('b'));
  fixture.endLocks();
  assert.equal((await fixture.broker.runtimeProperties('q')).deadLetter, 2);
  await fixture.broker.sweep();
  assert.deepEqual(bodies(await fixture.broker.peek(fixture.dead)).sort(), ['1', '2']);
  await fixture.requireNone();
});

test('an accept by id succeeds once the lock has expired, and the messages keep their order', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2', '3');
  const first = await fixture.accept('a');
  await first.peekLockMany(2);
  fixture.endLocks();
  const second = await fixture.accept('a');
  const again = await second.peekLockMany(5);
  assert.deepEqual(bodies(again), ['1', '2', '3']);
  assert.deepEqual(deliveryCounts(again), [2, 2, 1]);
  await second.release();
  assert.deepEqual(deliveryCounts(await (await fixture.accept('a')).peekLockMany(5)), [2, 2, 1]);
});

test('#94 holders that receive nothing do not raise the DeliveryCount, however many there are', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const first = await fixture.next();
  await lockOne(first);
  await first.release();
  for (let i = 0; i < 20; i++) await (await fixture.accept('a')).release();
  assert.equal((await lockOne(await fixture.accept('a'))).broker.DeliveryCount, 1);
});

test('an abandon with a delay is refused in a session, because its order is strict', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2');
  const session = await fixture.next();
  const message = await lockOne(session);
  const [outcome] = await session.settle([settlementOf(message, 'abandon', { delaySeconds: 5 })]);
  assert.equal(outcome?.error?.code, 'InvalidOperation');
  await settleAll(session, [message]);
});

test('the lock of a message received in a session ends together with the session lock', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const session = await fixture.next();
  assert.equal(Date.parse(session.lockedUntilUtc), fixture.broker.clock.now() + 60_000);
  fixture.advance({ seconds: 20 });
  const message = await lockOne(session);
  assert.equal(Date.parse(message.broker.LockedUntilUtc), fixture.broker.clock.now() + 40_000);
});
