import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodies, having } from '../queues/queue.ts';
import {
  counts,
  drain,
  LOCK_SECONDS,
  lockOne,
  PLACES,
  refusalOf,
  type SessionScene,
  settleAll,
  startSessions,
} from './session-scene.ts';

const OUTCOMES = ['complete', 'abandon', 'defer', 'deadLetter'] as const;

for (const place of PLACES) {
  test(`a receive that waits until its session's lock has ended ends with nothing (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    for (const method of ['POST', 'DELETE']) {
      const session = await scene.accept('a');
      const waiting = session.request(method, 'messages/head?timeout=1');
      // Meanwhile it has looked, and waits.
      for (let round = 0; round < 3; round++) assert.deepEqual(await session.peekLockMany(1), []);
      scene.broker.clock.advance({ seconds: 60 });
      assert.equal((await waiting).status, 204);
      // The next one is told.
      assert.equal((await session.request(method, 'messages/head?timeout=1')).status, 410);
    }
  });

  test(`#93 a session lock that ran out is lost for everything, and was a delivery (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2', '3', '4', '5');
    const session = await scene.next();
    const held = await session.peekLockMany(4);
    await session.setState('kept');
    scene.advance({ seconds: 59, ms: 999 });
    const [first, ...rest] = held;
    assert.ok(first);
    await settleAll(session, [first]);
    scene.advance({ ms: 1 });
    for (const [i, message] of rest.entries()) {
      assert.equal(await refusalOf(session, message, OUTCOMES[i]), 'SessionLockLost');
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
    const heir = await scene.nextIs('a');
    assert.equal(await heir.state(), 'kept');
    const again = await heir.peekLockMany(10);
    assert.deepEqual(bodies(again), ['2', '3', '4', '5']);
    assert.deepEqual(counts(again), [2, 2, 2, 1]);
    // The new lock does not revive the old one.
    assert.equal(await refusalOf(session, rest[0] ?? first), 'SessionLockLost');
    assert.equal(await refusalOf(heir, rest[0] ?? first), 'SessionLockLost');
    await settleAll(heir, again);
  });

  test(`#94 a session that its holder gave back leaves delivery counts alone (${place.what})`, async (t) => {
    const scene = await startSessions(t, place, { MaxDeliveryCount: '2' });
    await scene.send('a', '1', '2', '3');
    for (let round = 0; round < 20; round++) {
      const session = await scene.nextIs('a');
      const messages = await session.peekLockMany((round % 3) + 1);
      assert.deepEqual(counts(messages), Array((round % 3) + 1).fill(1), `round ${round}`);
      await session.release();
      assert.equal(await refusalOf(session, messages[0] ?? assert.fail()), 'SessionLockLost');
    }
    assert.deepEqual(await drain(await scene.next()), ['1', '2', '3']);
    assert.deepEqual(await scene.broker.peek(scene.dead), []);
  });

  test(`#94 nor does it raise the count that a receive-and-delete shows (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2');
    const holder = await scene.next();
    await holder.peekLockMany(1);
    await holder.release();
    const removed = await (await scene.nextIs('a')).receiveAndDeleteMany(2);
    assert.deepEqual(counts(removed), [1, 1]);
  });

  test(`the lock of a session lasts from its renewal on, and its messages with it (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2');
    const session = await scene.next();
    const held = await session.peekLockMany(1);
    for (let i = 0; i < 4; i++) {
      scene.advance({ seconds: LOCK_SECONDS - 1 });
      const until = Date.parse(await session.renew());
      assert.equal(until, scene.broker.clock.now() + LOCK_SECONDS * 1000);
    }
    scene.advance({ seconds: LOCK_SECONDS - 1 });
    await scene.noneWaits();
    // Its own lock would have ended minutes ago.
    await settleAll(session, held);
    const second = await lockOne(session);
    assert.equal(second.broker.DeliveryCount, 1);
    await settleAll(session, [second], 'abandon');
    assert.equal((await lockOne(session)).broker.DeliveryCount, 2);
    scene.advance({ seconds: 1 });
    assert.deepEqual(bodies(await (await scene.next()).peekLockMany(5)), ['2']);
  });

  test(`#14 a change of a ${place.what} ends the locks of its sessions at once`, async (t) => {
    const scene = await startSessions(t, place);
    for (const id of ['a', 'b']) await scene.send(id, `${id}1`, `${id}2`);
    const sessions = [await scene.next(), await scene.next()];
    const [held] = await Promise.all(sessions.map(lockOne));
    assert.ok(held);
    await scene.update({ MaxDeliveryCount: '9' });
    for (const session of sessions) {
      const answer = await session.request('POST', 'messages/head?timeout=0');
      assert.equal(answer.status, 410);
      assert.equal((await session.request('POST', 'sessions/$renew')).status, 410);
    }
    assert.equal(await refusalOf(sessions[0] ?? assert.fail(), held), 'SessionLockLost');
    const found = [await scene.next(), await scene.next()];
    assert.deepEqual(found.map(({ id }) => id).sort(), ['a', 'b']);
    await scene.noneWaits();
    for (const session of found) {
      const messages = await session.peekLockMany(5);
      assert.deepEqual(bodies(messages), [`${session.id}1`, `${session.id}2`]);
      assert.deepEqual(counts(messages), [2, 1]);
      await settleAll(session, messages);
    }
  });
}

/** What each way to leave a message makes of a session, MaxDeliveryCount times over. */
async function exhaust(
  scene: SessionScene,
  leave: 'expire' | 'release' | 'abandon' | 'abandonWithProperties' | 'update',
): Promise<number> {
  for (let deliveries = 0; deliveries < 6; deliveries++) {
    const session = await scene.accept('a');
    const [message] = await session.peekLockMany(1);
    if (message?.body !== 'bad') return deliveries;
    if (leave === 'expire') scene.endLocks();
    if (leave === 'update') await scene.update({ MaxDeliveryCount: '3' });
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
  test(`a message of a session left by ${leave} is delivered ${deliveries} times where 3 are allowed`, async (t) => {
    const scene = await startSessions(t, undefined, { MaxDeliveryCount: '3' });
    await scene.send('a', 'bad', 'good');
    assert.equal(await exhaust(scene, leave), deliveries);
    scene.endLocks();
    const [dead] = await scene.broker.peekLockMany(scene.dead, 10);
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

test('a last delivery that nobody ends is a dead letter without anybody coming to the session', async (t) => {
  const scene = await startSessions(t, undefined, { MaxDeliveryCount: '1' });
  await scene.send('a', '1');
  await scene.send('b', '2');
  await lockOne(await scene.accept('a'));
  await lockOne(await scene.accept('b'));
  scene.endLocks();
  assert.equal((await scene.broker.runtimeProperties('q')).deadLetter, 2);
  await scene.broker.sweep();
  assert.deepEqual(bodies(await scene.broker.peek(scene.dead)).sort(), ['1', '2']);
  await scene.noneWaits();
});

test('an accept by name takes over once a lock has run out, and keeps the order', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2', '3');
  const first = await scene.accept('a');
  await first.peekLockMany(2);
  scene.endLocks();
  const second = await scene.accept('a');
  const again = await second.peekLockMany(5);
  assert.deepEqual(bodies(again), ['1', '2', '3']);
  assert.deepEqual(counts(again), [2, 2, 1]);
  await second.release();
  assert.deepEqual(counts(await (await scene.accept('a')).peekLockMany(5)), [2, 2, 1]);
});

test('#94 holders who receive nothing do not raise counts either, however many they are', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const first = await scene.next();
  await lockOne(first);
  await first.release();
  for (let i = 0; i < 20; i++) await (await scene.accept('a')).release();
  assert.equal((await lockOne(await scene.accept('a'))).broker.DeliveryCount, 1);
});

test('a message of a session cannot be set aside for a time: its order is strict', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2');
  const session = await scene.next();
  const message = await lockOne(session);
  const [outcome] = await session.settle([having(message, 'abandon', { delaySeconds: 5 })]);
  assert.equal(outcome?.error?.code, 'InvalidOperation');
  await settleAll(session, [message]);
});

test('a message is received under the lock that its session has at that time', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const session = await scene.next();
  assert.equal(Date.parse(session.lockedUntilUtc), scene.broker.clock.now() + 60_000);
  scene.advance({ seconds: 20 });
  const message = await lockOne(session);
  assert.equal(Date.parse(message.broker.LockedUntilUtc), scene.broker.clock.now() + 40_000);
});
