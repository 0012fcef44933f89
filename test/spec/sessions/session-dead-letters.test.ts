import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptRaw } from '../../support/test-session.ts';
import { bodies, numbers, settlementOf } from '../queues/queue.ts';
import {
  drain,
  ENTITIES,
  inSession,
  lockOne,
  QUEUE,
  settleAll,
  startSessions,
} from './session-fixture.ts';

for (const entity of ENTITIES) {
  test(`#37 the dead-letter queue of a session ${entity.kind} is read without sessions`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.sendBatch([inSession('a', '1'), inSession('b', '2'), inSession('a', '3')]);
    for (const id of ['a', 'b']) {
      const session = await fixture.accept(id);
      const options = { deadLetterReason: `of ${id}`, deadLetterErrorDescription: 'broken' };
      await settleAll(session, await session.peekLockMany(5), 'deadLetter', options);
      await session.release();
    }
    await fixture.requireNone();
    const { broker, dead } = fixture;
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
    // The dead-letter queue locks single messages, not sessions.
    const settled = await broker.settle(dead, [settlementOf(held[0] ?? assert.fail(), 'complete')]);
    assert.equal(settled[0]?.settled, true);
    fixture.endLocks();
    assert.equal((await broker.receiveAndDeleteMany(dead, 10)).length, 2);
  });

  test(`a resubmitted dead letter of a ${entity.kind} returns to its session`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1', '2', '3');
    await fixture.send('b', 'x');
    const session = await fixture.accept('a');
    await settleAll(session, (await session.peekLockMany(3)).slice(0, 2), 'deadLetter');
    await session.release();
    const b = await fixture.accept('b');
    await settleAll(b, [await lockOne(b)], 'deadLetter');
    await b.release();
    assert.equal(await fixture.broker.resubmit(fixture.dead), 3);
    assert.deepEqual(await fixture.broker.peek(fixture.dead), []);
    assert.deepEqual([...(await fixture.list())], ['a', 'b']);
    for (const holder of [await fixture.next(), await fixture.next()]) {
      // Resubmitted messages are sent again, so they come after the ones that waited.
      assert.deepEqual(await drain(holder), holder.id === 'a' ? ['3', '1', '2'] : ['x']);
    }
  });
}

test('a dead letter that is resubmitted to a held session goes to the holder', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1', '2');
  const session = await fixture.next();
  await settleAll(session, [await lockOne(session)], 'deadLetter');
  assert.equal(await fixture.broker.resubmit(fixture.dead), 1);
  await fixture.requireNone();
  assert.deepEqual(await drain(session), ['2', '1']);
});

test('the dead-letter queue of a session queue refuses calls that name a session', async (t) => {
  const fixture = await startSessions(t);
  await fixture.send('a', '1');
  const session = await fixture.next();
  await settleAll(session, [await lockOne(session)], 'deadLetter');
  for (const [method, path] of [
    ['POST', 'sessions/$accept?timeout=0'],
    ['POST', 'sessions/$accept?sessionId=a'],
    ['GET', 'sessions/$list'],
    ['POST', `messages/head?timeout=0&${session.query}`],
    ['GET', `messages?${session.query}`],
  ] as const) {
    const answer = await fixture.broker.request(method, `${fixture.dead}/${path}`);
    assert.equal(answer.status, 400, path);
    assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
  }
  assert.equal((await acceptRaw(fixture.broker, fixture.dead, 'a')).status, 400);
  // Messages can be deferred there, as in any dead-letter queue.
  const [held] = await fixture.broker.peekLockMany(fixture.dead, 1);
  assert.ok(held);
  await fixture.broker.settle(fixture.dead, [settlementOf(held, 'defer')]);
  assert.deepEqual(bodies(await fixture.broker.receiveDeferred(fixture.dead, numbers([held]))), [
    '1',
  ]);
});

test('the counts of a session queue show active, dead-lettered, deferred and scheduled messages', async (t) => {
  const fixture = await startSessions(t, QUEUE);
  const at = { ScheduledEnqueueTimeUtc: new Date(fixture.broker.clock.now() + 9e5).toISOString() };
  await fixture.sendBatch([
    ...['1', '2', '3', '4'].map((body) => inSession('a', body)),
    ...['5', '6'].map((body) => inSession('b', body)),
  ]);
  await fixture.broker.schedule('q', [inSession('a', 'later', at), inSession('c', 'later', at)]);
  const session = await fixture.accept('a');
  const [first, second, third] = await session.peekLockMany(3);
  assert.ok(first && second && third);
  await settleAll(session, [first], 'deadLetter');
  await settleAll(session, [second], 'defer');
  const { total, active, deadLetter, scheduled } = await fixture.broker.runtimeProperties('q');
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
  await drain(await fixture.accept('b'));
  fixture.advance({ seconds: 900 });
  const then = await fixture.broker.runtimeProperties('q');
  assert.deepEqual([then.total, then.active, then.deadLetter, then.scheduled], [4, 3, 1, 0]);
});
