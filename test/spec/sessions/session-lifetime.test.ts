import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, instant } from '../queues/queue.ts';
import {
  counts,
  createPlace,
  drain,
  inSession,
  lockOne,
  PLACES,
  QUEUE,
  refusalOf,
  type SessionScene,
  settleAll,
  startSessions,
} from './session-scene.ts';

for (const place of PLACES) {
  test(`a purge takes the messages of all sessions, and leaves locks and states (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    const { broker, path } = scene;
    for (const id of ['held', 'free', 'other']) await scene.send(id, '1', '2');
    const held = await scene.accept('held');
    const message = await lockOne(held);
    await held.setState('kept');
    const other = await scene.accept('other');
    await other.setState('kept too');
    await other.release();
    await broker.purge(path);

    assert.equal(await refusalOf(held, message), 'SessionLockLost');
    assert.deepEqual(await held.peekLockMany(5), []);
    assert.deepEqual(await scene.list(), []);
    await scene.noneWaits();
    assert.equal(await held.state(), 'kept');
    await held.renew();

    await scene.send('held', 'new');
    await scene.send('other', 'new');
    const next = await scene.nextIs('other');
    assert.equal(await next.state(), 'kept too');
    await scene.noneWaits();
    assert.deepEqual(await drain(next), ['new']);
    const again = await lockOne(held);
    assert.deepEqual([again.body, again.broker.DeliveryCount], ['new', 1]);
    await held.release();
    assert.deepEqual(await drain(await scene.nextIs('held')), ['new']);
  });

  test(`what is sent after a purge into a session that is held is found once its lock runs out (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', 'old');
    const holder = await scene.accept('a');
    await lockOne(holder);
    await scene.broker.purge(scene.path);
    await scene.send('a', 'new');
    await scene.noneWaits();
    scene.endLocks();
    const heir = await scene.nextIs('a');
    const messages = await heir.peekLockMany(5);
    assert.deepEqual(bodies(messages), ['new']);
    assert.deepEqual(counts(messages), [1]);
    scene.endLocks();
    assert.deepEqual(await drain(await scene.nextIs('a')), ['new']);
  });

  test(`sessions of a deleted ${place.what} are none of the next one under its name`, async (t) => {
    const scene = await startSessions(t, place);
    const { broker } = scene;
    await scene.send('a', 'old');
    await scene.send('b', 'old');
    const old = await scene.accept('a');
    await old.setState('old');
    const message = await lockOne(old);
    expectStatus(await broker.request('DELETE', place.sendTo), 200);
    await createPlace(broker, place);

    assert.deepEqual(await scene.list(), []);
    assert.deepEqual(await scene.list({ updatedAfter: '2025-01-01T00:00:00Z' }), []);
    await scene.noneWaits();
    assert.equal((await old.request('POST', 'sessions/$renew')).status, 410);
    assert.equal(await refusalOf(old, message), 'SessionLockLost');
    const anew = await scene.accept('a');
    assert.equal(await anew.state(), undefined);
    assert.deepEqual(await anew.peekLockMany(5), []);
    await scene.send('b', 'new');
    assert.deepEqual(await drain(await scene.nextIs('b')), ['new']);
  });

  test(`of sessions of a deleted ${place.what} nothing is left once the sweep has passed`, async (t) => {
    const { scene, items, id } = await startFilled(t, place);
    expectStatus(await scene.broker.request('DELETE', scene.place.sendTo), 200);
    await sweepForAnHour(scene);
    assert.equal(await items.ofEntity(id), 0);
    scene.advance({ days: 366 });
    await scene.broker.sweep();
    assert.equal(await items.ofSweep(), 0);
  });
}

/** Sessions held, empty, with states small and large, with messages of all sorts. */
async function startFilled(t: TestContext, place = QUEUE) {
  const scene = await startSessions(t, place);
  const items = new StoredItems(scene.broker);
  t.after(() => items.close());
  const id = await idOf(items, scene);
  const empty = await items.ofEntity(id);
  const large = randomBytes(45 * 1024).toString('base64');
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 86_400 * 365 }) };
  await scene.sendBatch(
    Array.from({ length: 200 }, (_, i) => inSession(`s${i % 40}`, `${i}`.padEnd(400, '.'))),
  );
  await scene.sendBatch([inSession('s1', large), inSession('s2', large)]);
  if (place === QUEUE)
    await scene.sendBatch([inSession('s3', large, at), inSession('s4', 'x', at)]);
  for (let i = 0; i < 20; i++) {
    const session = await scene.accept(`s${i}`);
    if (i % 3 === 0) await session.setState(i % 2 ? 'small' : large);
    const [first, second, third] = await session.peekLockMany(3);
    assert.ok(first && second && third);
    await settleAll(session, [first], 'deadLetter');
    await settleAll(session, [second], 'defer');
    await settleAll(session, [third], 'abandon', { properties: { i } });
    if (i % 4 === 0) await session.release();
  }
  assert.ok((await items.ofEntity(id)) > 60);
  return { scene, items, id, empty };
}

async function idOf(items: StoredItems, { place }: SessionScene): Promise<string> {
  return place === QUEUE ? await items.idOf('q') : await items.idOfSubscription('t', 's');
}

async function sweepForAnHour({ broker }: SessionScene): Promise<void> {
  for (let i = 0; i < 60; i++) {
    broker.clock.advance({ minutes: 1 });
    await broker.sweep();
  }
}

test('of purged sessions nothing is left but states, and those go when they are cleared', async (t) => {
  const { scene, items, id, empty } = await startFilled(t);
  const { broker } = scene;
  await broker.purge('q');
  await broker.purge(scene.dead);
  await sweepForAnHour(scene);
  const withState = await scene.list({ updatedAfter: '2025-01-01T00:00:00Z', top: 1000 });
  assert.equal(withState.length, 7);
  for (const sessionId of withState) {
    const session = await scene.accept(sessionId);
    await session.clearState();
    await session.release();
  }
  await scene.noneWaits();
  await broker.units(async () => {});
  // Whoever vanished with a lock leaves its item to the next who passes.
  for (let i = 0; i < 20; i++) await (await scene.accept(`s${i}`)).release();
  await broker.units(async () => {});
  await sweepForAnHour(scene);
  assert.equal(await items.ofEntity(id), empty);
});

test('of sessions that were drained and given back nothing is left without any sweep', async (t) => {
  const scene = await startSessions(t);
  const items = new StoredItems(scene.broker);
  t.after(() => items.close());
  const id = await items.idOf('q');
  const empty = await items.ofEntity(id);
  const large = randomBytes(45 * 1024).toString('base64');
  for (const sessionId of ['a', 'b', 'c']) await scene.send(sessionId, '1', large, '3');
  for (let i = 0; i < 3; i++) {
    const session = await scene.next();
    await session.setState(large);
    assert.equal((await drain(session)).length, 3);
    await session.clearState();
    await session.release();
  }
  await scene.noneWaits();
  await scene.broker.units(async () => {});
  assert.equal(await items.ofEntity(id), empty);
});

test('a holder who vanished with an empty session leaves nothing once the next accept came by', async (t) => {
  const scene = await startSessions(t);
  const items = new StoredItems(scene.broker);
  t.after(() => items.close());
  const id = await items.idOf('q');
  const empty = await items.ofEntity(id);
  await scene.send('a', '1');
  await drain(await scene.next());
  await scene.accept('nobody-wrote');
  scene.endLocks();
  await scene.noneWaits();
  await scene.broker.units(async () => {});
  assert.equal(await items.ofEntity(id), empty);
});

test('a session queue is deleted for idleness as any other, and accepting keeps it alive', async (t) => {
  const scene = await startSessions(t, QUEUE, { AutoDeleteOnIdle: 'PT5M' });
  await scene.send('a', '1');
  for (let i = 0; i < 8; i++) {
    scene.advance({ minutes: 1 });
    const session = await scene.accept('a');
    await session.release();
    await scene.broker.sweep();
  }
  assert.equal((await scene.broker.request('GET', 'q')).status, 200);
  await sweepForAnHour(scene);
  assert.equal((await scene.broker.request('GET', 'q')).status, 404);
});
