import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { acceptNext, TestSession } from '../../support/test-session.ts';
import { bodies } from '../queues/queue.ts';
import {
  counts,
  createPlace,
  drain,
  inSession,
  lockOne,
  QUEUE,
  refusalOf,
  SessionScene,
  settleAll,
} from './session-scene.ts';

/** One queue through two processes that tell each other nothing; requests of the second can be held up. */
async function startTwo(
  t: TestContext,
): Promise<readonly [here: SessionScene, there: SessionScene, pauses: PauseClient]> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here, client: pauses.client });
  await createPlace(here, QUEUE);
  return [new SessionScene(here, QUEUE), new SessionScene(there, QUEUE), pauses];
}

/** A session as it is used through another process. */
function through(scene: SessionScene, session: TestSession): TestSession {
  const { id: sessionId, lock: sessionLock, lockedUntilUtc } = session;
  return new TestSession(scene.broker, scene.path, { sessionId, sessionLock, lockedUntilUtc });
}

test('#87 two processes that race for many sessions hand each out once', async (t) => {
  const [here, there] = await startTwo(t);
  const ids = Array.from({ length: 60 }, (_, i) => `s${i}`);
  await here.sendBatch(ids.map((id) => inSession(id, id)));
  const got: TestSession[] = [];
  const accept = async (scene: SessionScene) => {
    for (;;) {
      const session = await acceptNext(scene.broker, scene.path);
      if (session === undefined) return;
      got.push(session);
      assert.deepEqual(bodies(await session.peekLockMany(5)), [session.id]);
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, i) => accept(i % 2 ? here : there)));
  // Who loses every race goes away with nothing, so somebody has to ask last.
  await accept(here);
  assert.deepEqual(got.map(({ id }) => id).sort(), [...ids].sort());
});

test('#88 a lock that is held through one process is respected, renewed and given back through the other', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1', '2', '3');
  const session = await here.next();
  const first = await lockOne(session);
  assert.equal((await there.acceptRaw('a')).status, 409);
  await there.noneWaits();
  const remote = through(there, session);
  await settleAll(remote, [first]);
  here.advance({ seconds: 59 });
  await remote.renew();
  here.advance({ seconds: 59 });
  assert.deepEqual(bodies(await remote.peekLockMany(1)), ['2']);
  assert.deepEqual(bodies(await session.peekLockMany(1)), ['3']);
  await remote.release();
  const heir = await there.next();
  const again = await heir.peekLockMany(5);
  assert.deepEqual(
    [bodies(again), counts(again)],
    [
      ['2', '3'],
      [1, 1],
    ],
  );
  await heir.release();
  // What one process remembers of the front of a session does not outlast its holder.
  assert.deepEqual(await drain(await here.next()), ['2', '3']);
});

test('#91 what is abandoned through one process comes next through the other, at once', async (t) => {
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

test('an accept that waits at one process gets what is sent, or given back, through the other', async (t) => {
  const [here, there] = await startTwo(t);
  const waiting = here.next(60);
  await there.send('a', '1');
  const session = await waiting;
  const second = there.next(60);
  await session.release();
  assert.equal((await second).id, 'a');
});

test('#14 an update through one process ends the locks of sessions held through the other', async (t) => {
  const [here, there] = await startTwo(t);
  await here.send('a', '1');
  const session = await there.next();
  const message = await lockOne(session);
  await here.update({ MaxDeliveryCount: '9' });
  assert.equal(await refusalOf(session, message), 'SessionLockLost');
  const heir = await there.nextIs('a');
  assert.deepEqual(counts(await heir.peekLockMany(5)), [2]);
});

for (const [moment, command, collection, times] of [
  ['before it is stored', 'PutItemCommand', /\.0m0$/, 1],
  // The first look is before it is stored, the second one afterwards.
  ['before its sender looks again', 'GetItemCommand', /\.0k$/, 2],
] as const) {
  test(`a message is found whose session was given back empty ${moment}`, async (t) => {
    const [here, there, pauses] = await startTwo(t);
    const holder = await here.accept('a');
    let left: number = times;
    const pause = pauses.pauseNext((request) => {
      const isMeant = request.command === command && collection.test(request.collection);
      return isMeant && --left === 0;
    });
    const sending = there.send('a', '1');
    await pause.reached;
    await holder.release();
    pause.goOn();
    await sending;
    assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
  });
}

test('a receive that is overtaken by the end of its lock takes nothing from the next holder', async (t) => {
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
  await here.noneWaits();
});

test('a receive whose session changes hands before it looks at the messages takes none', async (t) => {
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

test('a deferred message is not taken from the next holder by one whose lock has run out', async (t) => {
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

test('an accept that looked too early does not forget a session into which something came', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  const holder = await here.accept('a');
  here.advance({ seconds: 59 });
  await holder.renew();
  // The listing for the first end of the lock is due, and the lock is live.
  here.advance({ seconds: 2 });
  const pause = pauses.pauseNext(
    ({ command, collection }) => command === 'GetItemCommand' && /\.0k$/.test(collection),
  );
  const looking = acceptNext(there.broker, there.path);
  await pause.reached;
  // Time for the look at the messages, which is beside the one that is held up.
  await there.list();
  await here.send('a', '1');
  here.endLocks();
  pause.goOn();
  await looking;
  here.endLocks();
  assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
});

test('who clears away a session that ran out leaves it to a holder whose renewal came just in time', async (t) => {
  const [here, there, pauses] = await startTwo(t);
  const renewing = startPauses();
  t.after(() => renewing.client.destroy());
  const third = await startBroker(t, { beside: here.broker, client: renewing.client });
  const session = await here.accept('a');
  const ofSession = ({ collection }: { collection: string }) => collection.endsWith('.0k');
  const renewal = renewing.pauseNext((r) => r.command === 'UpdateItemCommand' && ofSession(r));
  here.advance({ seconds: 30 });
  const renewed = through(new SessionScene(third, QUEUE), session).renew();
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
