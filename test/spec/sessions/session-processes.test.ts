import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { acceptNext, TestSession } from '../../support/test-session.ts';
import { bodies } from '../queues/queue.ts';
import {
  createSessionEntity,
  deliveryCounts,
  drain,
  inSession,
  lockOne,
  QUEUE,
  SessionFixture,
  settleAll,
  settleError,
} from './session-fixture.ts';

/** Two processes with one queue and no shared memory; the requests of the second can be paused. */
async function startTwo(
  t: TestContext,
): Promise<readonly [here: SessionFixture, there: SessionFixture, pauses: PauseClient]> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here, client: pauses.client });
  await createSessionEntity(here, QUEUE);
  return [new SessionFixture(here, QUEUE), new SessionFixture(there, QUEUE), pauses];
}

/** The same session and lock, used through another process. */
function through(fixture: SessionFixture, session: TestSession): TestSession {
  const { id: sessionId, lock: sessionLock, lockedUntilUtc } = session;
  return new TestSession(fixture.broker, fixture.path, { sessionId, sessionLock, lockedUntilUtc });
}

test('#87 two processes whose clients race for many sessions hand out each session once', async (t) => {
  const [here, there] = await startTwo(t);
  const ids = Array.from({ length: 60 }, (_, i) => `s${i}`);
  await here.sendBatch(ids.map((id) => inSession(id, id)));
  const got: TestSession[] = [];
  const accept = async (fixture: SessionFixture) => {
    for (;;) {
      const session = await acceptNext(fixture.broker, fixture.path);
      if (session === undefined) return;
      got.push(session);
      assert.deepEqual(bodies(await session.peekLockMany(5)), [session.id]);
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, i) => accept(i % 2 ? here : there)));
  // An accept that loses every race returns nothing, so one more loop collects what is left.
  await accept(here);
  assert.deepEqual(got.map(({ id }) => id).sort(), [...ids].sort());
});

test('#88 a session lock accepted through one process is enforced, renewed and released through the other', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1', '2', '3');
  const session = await here.next();
  const first = await lockOne(session);
  assert.equal((await there.acceptRaw('a')).status, 409);
  await there.requireNone();
  const remote = through(there, session);
  await settleAll(remote, [first]);
  here.advance({ seconds: 59 });
  await remote.renew();
  here.advance({ seconds: 59 });
  assert.deepEqual(bodies(await remote.peekLockMany(1)), ['2']);
  assert.deepEqual(bodies(await session.peekLockMany(1)), ['3']);
  await remote.release();
  const nextHolder = await there.next();
  const again = await nextHolder.peekLockMany(5);
  assert.deepEqual(
    [bodies(again), deliveryCounts(again)],
    [
      ['2', '3'],
      [1, 1],
    ],
  );
  await nextHolder.release();
  // The first process must not use what it cached about the session under the earlier lock.
  assert.deepEqual(await drain(await here.next()), ['2', '3']);
});

test('#91 a message abandoned through one process is at once the next one delivered through the other', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1', '2', '3');
  const session = await here.next();
  const remote = through(there, session);
  for (const options of [{}, { properties: { mark: 1 } }]) {
    const message = await lockOne(session);
    await settleAll(remote, [message], 'abandon', options);
    const again = await lockOne(session);
    assert.equal(again.body, '1');
    await settleAll(session, [again], 'abandon');
  }
  assert.deepEqual(await drain(session), ['1', '2', '3']);
});

test('#95 a state that is set through another process outlasts a release', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1');
  const session = await here.next();
  assert.deepEqual(await drain(session), ['1']);
  await through(there, session).setState('step 2');
  await session.release();
  assert.equal(await (await here.accept('a')).state(), 'step 2');
});

test('#87 accepts of one process that look at the same time get a session each, although one of them hangs', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  await here.sendBatch([inSession('a', '1'), inSession('b', '2')]);
  const locking = pauses.pauseNext(({ command }) => command === 'UpdateItemCommand');
  const first = there.next();
  await locking.reached;
  // It leaves the first session to the other accept.
  const second = await there.next();
  locking.goOn();
  assert.deepEqual([(await first).id, second.id].sort(), ['a', 'b']);
});

test('a waiting accept gets a session that starts or is released through another process', async (t) => {
  const [here, there] = await startTwo(t);
  const waiting = here.next(60);
  await there.send('a', '1');
  const session = await waiting;
  const second = there.next(60);
  await session.release();
  assert.equal((await second).id, 'a');
});

test('#14 an update through one process ends the session locks accepted through the other', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1');
  const session = await there.next();
  const message = await lockOne(session);
  await here.update({ MaxDeliveryCount: '9' });
  assert.equal(await settleError(session, message), 'SessionLockLost');
  const nextHolder = await there.nextIs('a');
  assert.deepEqual(deliveryCounts(await nextHolder.peekLockMany(5)), [2]);
});

for (const [moment, command, collection, times] of [
  ['before it is stored', 'PutItemCommand', /\.0m0$/, 1],
  // The sender reads the session once before it stores the message, and once afterwards.
  ['before its sender reads the session again', 'GetItemCommand', /\.0k$/, 2],
] as const) {
  test(`a message is found although its empty session was released ${moment}`, async (t) => {
    const [here, there, pauses] = await startTwo(t);
    const holder = await here.accept('a');
    let left: number = times;
    const pause = pauses.pauseNext((request) => {
      const matches = request.command === command && collection.test(request.collection);
      return matches && --left === 0;
    });
    const sending = there.send('a', '1');
    await pause.reached;
    await holder.release();
    pause.goOn();
    await sending;
    assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
  });
}

test('a receive whose session lock expires before its claim takes no message from the next holder', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  await here.send('a', '1', '2');
  const late = await there.next();
  const pause = pauses.pauseNext(
    ({ command, collection }) => command === 'UpdateItemCommand' && /\.0m0$/.test(collection),
  );
  const receiving = late.request('POST', 'messages/head?timeout=0&maxMessages=10');
  await pause.reached;
  here.endLocks();
  const holder = await here.next();
  const held = await holder.peekLockMany(10);
  assert.deepEqual(bodies(held), ['1', '2']);
  pause.goOn();
  const { status } = await receiving;
  assert.ok(status === 204 || status === 410, `the late receive is answered by ${status}`);
  await settleAll(holder, held);
  await holder.release();
  await here.requireNone();
});

test('a receive whose session gets another holder before it reads the messages takes none', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  await here.send('a', '1', '2');
  const late = await there.next();
  const pause = pauses.pauseNext(
    ({ command, collection }) => command === 'QueryCommand' && /\.0m0$/.test(collection),
  );
  const receiving = late.request('DELETE', 'messages/head?timeout=0&maxMessages=10');
  await pause.reached;
  here.endLocks();
  const holder = await here.next();
  const held = await holder.peekLockMany(10);
  pause.goOn();
  const { status } = await receiving;
  assert.ok(status === 204 || status === 410, `the late receive is answered by ${status}`);
  await settleAll(holder, held);
});

test('a holder whose lock has expired cannot take a deferred message from the next holder', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  await here.send('a', '1');
  const late = await there.next();
  const deferred = await lockOne(late);
  await settleAll(late, [deferred], 'defer');
  const sequenceNumbers = [deferred.broker.SequenceNumber];
  const pause = pauses.pauseNext(({ command }) => command === 'BatchGetItemCommand');
  const body = JSON.stringify({ sequenceNumbers });
  const receiving = late.request('POST', 'messages/$deferred', { body });
  await pause.reached;
  here.endLocks();
  const holder = await here.accept('a');
  const held = await holder.receiveDeferred(sequenceNumbers);
  pause.goOn();
  const { status } = await receiving;
  assert.ok(status === 404 || status === 410, `the late receive is answered by ${status}`);
  await settleAll(holder, held);
});

test('an accept that sees a session as empty does not remove it when a message arrives meanwhile', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  const holder = await here.accept('a');
  here.advance({ seconds: 59 });
  await holder.renew();
  // The index entry for the first end of the lock is due, but the renewed lock is still live.
  here.advance({ seconds: 2 });
  const pause = pauses.pauseNext(
    ({ command, collection }) => command === 'GetItemCommand' && /\.0k$/.test(collection),
  );
  const looking = acceptNext(there.broker, there.path);
  await pause.reached;
  // This call leaves time for the query of the messages, which runs beside the paused read.
  await there.list();
  await here.send('a', '1');
  here.endLocks();
  pause.goOn();
  await looking;
  here.endLocks();
  assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
});

test('an accept that cleans up an expired session keeps it if the holder’s renewal arrives just in time', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  const renewing = startPauses();
  t.after(() => renewing.client.destroy());
  const third = await startBroker(t, { beside: here.broker, client: renewing.client });
  const session = await here.accept('a');
  const ofSession = ({ collection }: { collection: string }) => collection.endsWith('.0k');
  const renewal = renewing.pauseNext((r) => r.command === 'UpdateItemCommand' && ofSession(r));
  here.advance({ seconds: 30 });
  const renewed = through(new SessionFixture(third, QUEUE), session).renew();
  await renewal.reached;
  here.advance({ seconds: 30 });
  const clearing = pauses.pauseNext((r) => r.command === 'DeleteItemCommand' && ofSession(r));
  const accepted = acceptNext(there.broker, there.path);
  await clearing.reached;
  renewal.goOn();
  await renewed;
  clearing.goOn();
  assert.equal(await accepted, undefined);
  assert.equal((await here.acceptRaw('a')).status, 409);
  await session.renew();
});
