import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptRaw } from '../../support/test-session.ts';
import { bodies, having, numbers } from '../queues/queue.ts';
import {
  drain,
  inSession,
  lockOne,
  PLACES,
  QUEUE,
  settleAll,
  startSessions,
} from './session-scene.ts';

for (const place of PLACES) {
  test(`#37 the dead-letter queue of a session ${place.what} is read without sessions`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.sendBatch([inSession('a', '1'), inSession('b', '2'), inSession('a', '3')]);
    for (const id of ['a', 'b']) {
      const session = await scene.accept(id);
      const options = { deadLetterReason: `of ${id}`, deadLetterErrorDescription: 'broken' };
      await settleAll(session, await session.peekLockMany(5), 'deadLetter', options);
      await session.release();
    }
    await scene.noneWaits();
    const { broker, dead } = scene;
    const shown = await broker.peek(dead);
    assert.deepEqual(bodies(shown).sort(), ['1', '2', '3']);
    const held = await broker.peekLockMany(dead, 10);
    assert.deepEqual(
      held
        .map(({ body, broker: b, properties: p }) => [
          body,
          b['SessionId'],
          b.DeliveryCount,
          p['DeadLetterReason'],
          p['DeadLetterErrorDescription'],
        ])
        .sort(),
      [
        ['1', 'a', 1, 'of a', 'broken'],
        ['2', 'b', 1, 'of b', 'broken'],
        ['3', 'a', 1, 'of a', 'broken'],
      ],
    );
    // Locked one by one there, not by session.
    const settled = await broker.settle(dead, [having(held[0] ?? assert.fail(), 'complete')]);
    assert.equal(settled[0]?.settled, true);
    scene.endLocks();
    assert.equal((await broker.receiveAndDeleteMany(dead, 10)).length, 2);
  });

  test(`a dead letter of a ${place.what} goes back into its session`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1', '2', '3');
    await scene.send('b', 'x');
    const session = await scene.accept('a');
    await settleAll(session, (await session.peekLockMany(3)).slice(0, 2), 'deadLetter');
    await session.release();
    const b = await scene.accept('b');
    await settleAll(b, [await lockOne(b)], 'deadLetter');
    await b.release();
    assert.equal(await scene.broker.resubmit(scene.dead), 3);
    assert.deepEqual(await scene.broker.peek(scene.dead), []);
    assert.deepEqual([...(await scene.list())], ['a', 'b']);
    const heirs = [await scene.next(), await scene.next()];
    for (const heir of heirs) {
      // They are sent again, so they come behind what waited.
      assert.deepEqual(await drain(heir), heir.id === 'a' ? ['3', '1', '2'] : ['x']);
    }
  });
}

test('a dead letter that goes back into a held session comes to its holder', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1', '2');
  const session = await scene.next();
  await settleAll(session, [await lockOne(session)], 'deadLetter');
  assert.equal(await scene.broker.resubmit(scene.dead), 1);
  await scene.noneWaits();
  assert.deepEqual(await drain(session), ['2', '1']);
});

test('the dead-letter queue of a session queue knows no sessions', async (t) => {
  const scene = await startSessions(t);
  await scene.send('a', '1');
  const session = await scene.next();
  await settleAll(session, [await lockOne(session)], 'deadLetter');
  for (const [method, path] of [
    ['POST', 'sessions/$accept?timeout=0'],
    ['POST', 'sessions/$accept?sessionId=a'],
    ['GET', 'sessions/$list'],
    ['POST', `messages/head?timeout=0&${session.query}`],
    ['GET', `messages?${session.query}`],
  ] as const) {
    const answer = await scene.broker.request(method, `${scene.dead}/${path}`);
    assert.equal(answer.status, 400, path);
    assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
  }
  assert.equal((await acceptRaw(scene.broker, scene.dead, 'a')).status, 400);
  // Deferral works there as in any dead-letter queue.
  const [held] = await scene.broker.peekLockMany(scene.dead, 1);
  assert.ok(held);
  await scene.broker.settle(scene.dead, [having(held, 'defer')]);
  assert.deepEqual(bodies(await scene.broker.receiveDeferred(scene.dead, numbers([held]))), ['1']);
});

test('counts of a session queue tell active, dead, deferred and scheduled messages', async (t) => {
  const scene = await startSessions(t, QUEUE);
  const at = { ScheduledEnqueueTimeUtc: new Date(scene.broker.clock.now() + 9e5).toISOString() };
  await scene.sendBatch([
    ...['1', '2', '3', '4'].map((body) => inSession('a', body)),
    ...['5', '6'].map((body) => inSession('b', body)),
  ]);
  await scene.broker.schedule('q', [inSession('a', 'later', at), inSession('c', 'later', at)]);
  const session = await scene.accept('a');
  const [first, second, third] = await session.peekLockMany(3);
  assert.ok(first && second && third);
  await settleAll(session, [first], 'deadLetter');
  await settleAll(session, [second], 'defer');
  const { total, active, deadLetter, scheduled } = await scene.broker.runtimeProperties('q');
  assert.deepEqual(
    { total, active, deadLetter, scheduled },
    {
      total: 8,
      active: 5,
      deadLetter: 1,
      scheduled: 2,
    },
  );
  await settleAll(session, [third]);
  await drain(session);
  await drain(await scene.accept('b'));
  scene.advance({ seconds: 900 });
  const then = await scene.broker.runtimeProperties('q');
  assert.deepEqual([then.total, then.active, then.deadLetter, then.scheduled], [4, 3, 1, 0]);
});
