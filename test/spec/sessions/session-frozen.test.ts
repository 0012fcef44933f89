import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { turns } from '../../support/composed-process.ts';
import { type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { acceptNext, TestSession } from '../../support/test-session.ts';
import {
  createSessionEntity,
  drain,
  LOCK_SECONDS,
  lockOne,
  QUEUE,
  SessionFixture,
  settleError,
} from './session-fixture.ts';

/** Processes that freeze between two requests to the database, while others go on. */

/** Processes with one queue and no shared memory; the requests of all but the first can be paused. */
async function startProcesses(t: TestContext, count: number) {
  const here = await startBroker(t);
  await createSessionEntity(here, QUEUE);
  const others: { readonly process: SessionFixture; readonly pauses: PauseClient }[] = [];
  for (let i = 0; i < count; i++) {
    const pauses = startPauses();
    t.after(() => pauses.client.destroy());
    const broker = await startBroker(t, { beside: here, client: pauses.client });
    others.push({ process: new SessionFixture(broker, QUEUE), pauses });
  }
  return { here: new SessionFixture(here, QUEUE), others };
}

/** The same session and lock, used through another process. */
function through(fixture: SessionFixture, session: TestSession): TestSession {
  const { id: sessionId, lock: sessionLock, lockedUntilUtc } = session;
  return new TestSession(fixture.broker, fixture.path, { sessionId, sessionLock, lockedUntilUtc });
}

/** Waits until work that no client waits for has ended, such as removals of index entries. */
async function settled({ broker }: SessionFixture): Promise<void> {
  await broker.units(async () => {});
}

const ofSession = ({ collection }: { readonly collection: string }) => collection.endsWith('.0k');

test('the entry of a lock that is being taken survives an accept that looks ahead after an update', async (t) => {
  const { here, others } = await startProcesses(t, 2);
  const [frozen, looking] = others;
  assert.ok(frozen && looking);
  await here.update({ MaxDeliveryCount: '9' });
  await here.send('a', '1');
  const locking = frozen.pauses.pauseNext((r) => r.command === 'UpdateItemCommand' && ofSession(r));
  const accepting = frozen.process.next();
  await locking.reached;
  here.advance({ seconds: 2 });
  const holder = await here.accept('a');
  // Removes the entry of the send.
  await here.requireNone();
  // Sees the entry that the frozen process has written for the end of its lock.
  await looking.process.requireNone();
  await settled(looking.process);
  await holder.release();
  locking.goOn();
  assert.equal((await accepting).id, 'a');
  // Removes the entry of the release, because the session is held again.
  await here.requireNone();
  await settled(here);
  here.endLocks();
  assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
});

test('a lock that is taken with settings from before an update does not replace a later lock', async (t) => {
  const { here, others } = await startProcesses(t, 1);
  const [frozen] = others;
  assert.ok(frozen);
  await here.send('a', '1');
  const locking = frozen.pauses.pauseNext((r) => r.command === 'UpdateItemCommand' && ofSession(r));
  const accepting = acceptNext(frozen.process.broker, frozen.process.path);
  await locking.reached;
  await here.update({ MaxDeliveryCount: '9' });
  const holder = await here.next();
  const message = await lockOne(holder);
  locking.goOn();
  await accepting.catch(() => undefined);
  assert.equal(await settleError(holder, message), undefined);
});

/** An accept of a process that has read the entity, and freezes before it reads the index. */
async function acceptFrozen({ process, pauses }: { process: SessionFixture; pauses: PauseClient }) {
  const reading = pauses.pauseNext(
    ({ command, collection }) => command === 'QueryCommand' && /r\d+$/.test(collection),
  );
  const accepting = acceptNext(process.broker, process.path);
  await reading.reached;
  return { accepting, goOn: () => reading.goOn() };
}

test('a process with settings from before an update leaves an empty session to its later holder', async (t) => {
  const { here, others } = await startProcesses(t, 1);
  const [frozen] = others;
  assert.ok(frozen);
  await here.send('a', '1');
  assert.deepEqual(await drain(await here.accept('a')), ['1']);
  const { accepting, goOn } = await acceptFrozen(frozen);
  await here.update({ MaxDeliveryCount: '9' });
  const holder = await here.accept('a');
  goOn();
  assert.equal(await accepting, undefined);
  await here.send('a', '2');
  assert.deepEqual(await drain(through(frozen.process, holder)), ['2']);
  await through(frozen.process, holder).renew();
});

test('a process with settings from before an update does not dead-letter what a later holder received', async (t) => {
  const { here, others } = await startProcesses(t, 1);
  const [frozen] = others;
  assert.ok(frozen);
  await here.update({ MaxDeliveryCount: '1' });
  await here.send('a', '1');
  const { accepting, goOn } = await acceptFrozen(frozen);
  await here.update({ MaxDeliveryCount: '1' });
  const holder = await here.accept('a');
  const message = await lockOne(holder);
  goOn();
  assert.equal(await accepting, undefined);
  assert.equal(await settleError(holder, message), undefined);
});

test('a lock whose renewal arrives while others find it expired and empty has an entry for its end', async (t) => {
  const { here, others } = await startProcesses(t, 2);
  const [cleaning, renewing] = others;
  assert.ok(cleaning && renewing);
  const session = await here.accept('a');
  here.advance({ seconds: LOCK_SECONDS / 2 });
  const renewal = renewing.pauses.pauseNext(
    (r) => r.command === 'UpdateItemCommand' && ofSession(r),
  );
  const renewed = through(renewing.process, session).renew();
  await renewal.reached;
  here.advance({ seconds: LOCK_SECONDS / 2 });
  const clearing = cleaning.pauses.pauseNext(
    (r) => r.command === 'DeleteItemCommand' && ofSession(r),
  );
  const accepting = acceptNext(cleaning.process.broker, cleaning.process.path);
  await clearing.reached;
  renewal.goOn();
  await renewed;
  clearing.goOn();
  assert.equal(await accepting, undefined);
  await here.send('a', '1');
  // The holder vanishes.
  here.endLocks();
  assert.deepEqual(await drain(await here.nextIs('a')), ['1']);
});

test('an accept gets a free session although another call of its process hangs while it looks at it', async (t) => {
  const { here, others } = await startProcesses(t, 1);
  const [process] = others;
  assert.ok(process);
  await here.send('a', '1');
  const looking = process.pauses.pauseNext(
    ({ command, collection }) => command === 'GetItemCommand' && /\.0m0$/.test(collection),
  );
  const first = acceptNext(process.process.broker, process.process.path);
  await looking.reached;
  const second = acceptNext(process.process.broker, process.process.path);
  let isAnswered = false;
  const answered = second.then(() => {
    isAnswered = true;
  });
  // Far longer than the 100 ms after which a stalled group no longer holds up the next one.
  const end = performance.now() + 2000;
  while (!isAnswered && performance.now() < end) await turns(10);
  const wasAnswered = isAnswered;
  looking.goOn();
  await Promise.all([first, answered]);
  assert.ok(wasAnswered, 'the second accept does not wait for the first one');
});

test('#94 a session whose release hangs after a message came is not accepted before its lock counts as released', async (t) => {
  const { here, others } = await startProcesses(t, 1);
  const [releasing] = others;
  assert.ok(releasing);
  const session = await here.accept('a');
  const { pauses, process } = releasing;
  const deletion = pauses.pauseNext((r) => r.command === 'DeleteItemCommand' && ofSession(r));
  const released = through(process, session).release();
  await deletion.reached;
  await here.send('a', '1');
  await lockOne(session);
  const noting = pauses.pauseNext((r) => r.command === 'UpdateItemCommand' && ofSession(r));
  deletion.goOn();
  await noting.reached;
  await turns(1000);
  await here.requireNone();
  noting.goOn();
  await released;
  const next = await here.nextIs('a');
  assert.equal((await lockOne(next)).broker.DeliveryCount, 1);
});
