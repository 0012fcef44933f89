import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, instant } from '../queues/queue.ts';
import {
  createSessionEntity,
  deliveryCounts,
  drain,
  ENTITIES,
  inSession,
  lockOne,
  QUEUE,
  type SessionFixture,
  settleAll,
  settleError,
  startSessions,
} from './session-fixture.ts';

for (const entity of ENTITIES) {
  test(`a purge deletes the messages of all sessions, and keeps session locks and states (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { broker, path } = fixture;
    for (const id of ['held', 'free', 'other']) await fixture.send(id, '1', '2');
    const held = await fixture.accept('held');
    const message = await lockOne(held);
    await held.setState('kept');
    const other = await fixture.accept('other');
    await other.setState('kept too');
    await other.release();
    await broker.purge(path);

    assert.equal(await settleError(held, message), 'SessionLockLost');
    assert.deepEqual(await held.peekLockMany(5), []);
    assert.deepEqual(await fixture.list(), []);
    await fixture.requireNone();
    assert.equal(await held.state(), 'kept');
    await held.renew();

    await fixture.send('held', 'new');
    await fixture.send('other', 'new');
    const next = await fixture.nextIs('other');
    assert.equal(await next.state(), 'kept too');
    await fixture.requireNone();
    assert.deepEqual(await drain(next), ['new']);
    const again = await lockOne(held);
    assert.deepEqual([again.body, again.broker.DeliveryCount], ['new', 1]);
    await held.release();
    assert.deepEqual(await drain(await fixture.nextIs('held')), ['new']);
  });

  test(`a message sent to a held session after a purge is found once the lock expires (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', 'old');
    const holder = await fixture.accept('a');
    await lockOne(holder);
    await fixture.broker.purge(fixture.path);
    await fixture.send('a', 'new');
    await fixture.requireNone();
    fixture.endLocks();
    const nextHolder = await fixture.nextIs('a');
    const messages = await nextHolder.peekLockMany(5);
    assert.deepEqual(bodies(messages), ['new']);
    assert.deepEqual(deliveryCounts(messages), [1]);
    fixture.endLocks();
    assert.deepEqual(await drain(await fixture.nextIs('a')), ['new']);
  });

  test(`a new ${entity.kind} has no sessions of the deleted one of the same name`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { broker } = fixture;
    await fixture.send('a', 'old');
    await fixture.send('b', 'old');
    const old = await fixture.accept('a');
    await old.setState('old');
    const message = await lockOne(old);
    expectStatus(await broker.request('DELETE', entity.sendTo), 200);
    await createSessionEntity(broker, entity);

    assert.deepEqual(await fixture.list(), []);
    assert.deepEqual(await fixture.list({ updatedAfter: '2025-01-01T00:00:00Z' }), []);
    await fixture.requireNone();
    assert.equal((await old.request('POST', 'sessions/$renew')).status, 410);
    assert.equal(await settleError(old, message), 'SessionLockLost');
    const anew = await fixture.accept('a');
    assert.equal(await anew.state(), undefined);
    assert.deepEqual(await anew.peekLockMany(5), []);
    await fixture.send('b', 'new');
    assert.deepEqual(await drain(await fixture.nextIs('b')), ['new']);
  });

  test(`the sweep deletes every item of the sessions of a deleted ${entity.kind}`, async (t) => {
    const { fixture, items, id } = await startFilled(t, entity);
    expectStatus(await fixture.broker.request('DELETE', fixture.entity.sendTo), 200);
    await sweepForAnHour(fixture);
    assert.equal(await items.ofEntity(id), 0);
    fixture.advance({ days: 366 });
    await fixture.broker.sweep();
    assert.equal(await items.ofSweep(), 0);
  });
}

/** Held and released sessions, with small, large and no states, and with messages in every state. */
async function startFilled(t: TestContext, entity = QUEUE) {
  const fixture = await startSessions(t, entity);
  const items = new StoredItems(fixture.broker);
  t.after(() => items.close());
  const id = await idOf(items, fixture);
  const empty = await items.ofEntity(id);
  const large = randomBytes(45 * 1024).toString('base64');
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 86_400 * 365 }) };
  await fixture.sendBatch(
    Array.from({ length: 200 }, (_, i) => inSession(`s${i % 40}`, `${i}`.padEnd(400, '.'))),
  );
  await fixture.sendBatch([inSession('s1', large), inSession('s2', large)]);
  if (entity === QUEUE)
    await fixture.sendBatch([inSession('s3', large, at), inSession('s4', 'x', at)]);
  for (let i = 0; i < 20; i++) {
    const session = await fixture.accept(`s${i}`);
    if (i % 3 === 0) await session.setState(i % 2 ? 'small' : large);
    const [first, second, third] = await session.peekLockMany(3);
    assert.ok(first && second && third);
    await settleAll(session, [first], 'deadLetter');
    await settleAll(session, [second], 'defer');
    await settleAll(session, [third], 'abandon', { properties: { i } });
    if (i % 4 === 0) await session.release();
  }
  assert.ok((await items.ofEntity(id)) > 60);
  return { fixture, items, id, empty };
}

async function idOf(items: StoredItems, { entity }: SessionFixture): Promise<string> {
  return entity === QUEUE ? await items.idOf('q') : await items.idOfSubscription('t', 's');
}

async function sweepForAnHour({ broker }: SessionFixture): Promise<void> {
  const sweeps = isMore() ? 60 : 12;
  for (let i = 0; i < sweeps; i++) {
    broker.clock.advance({ minutes: 60 / sweeps });
    await broker.sweep();
  }
}

test('only the states of purged sessions are left in the tables, until they are cleared', async (t) => {
  const { fixture, items, id, empty } = await startFilled(t);
  const { broker } = fixture;
  await broker.purge('q');
  await broker.purge(fixture.dead);
  await sweepForAnHour(fixture);
  const withState = await fixture.list({ updatedAfter: '2025-01-01T00:00:00Z', top: 1000 });
  assert.equal(withState.length, 7);
  for (const sessionId of withState) {
    const session = await fixture.accept(sessionId);
    await session.clearState();
    await session.release();
  }
  await fixture.requireNone();
  await broker.units(async () => {});
  // A holder that never released its session leaves an item, which the next accept and release remove.
  for (let i = 0; i < 20; i++) await (await fixture.accept(`s${i}`)).release();
  await broker.units(async () => {});
  await sweepForAnHour(fixture);
  assert.equal(await items.ofEntity(id), empty);
});

test('a session that is drained, cleared and released leaves no items, without any sweep', async (t) => {
  const fixture = await startSessions(t);
  const items = new StoredItems(fixture.broker);
  t.after(() => items.close());
  const id = await items.idOf('q');
  const empty = await items.ofEntity(id);
  const large = randomBytes(45 * 1024).toString('base64');
  for (const sessionId of ['a', 'b', 'c']) await fixture.send(sessionId, '1', large, '3');
  for (let i = 0; i < 3; i++) {
    const session = await fixture.next();
    await session.setState(large);
    assert.equal((await drain(session)).length, 3);
    await session.clearState();
    await session.release();
  }
  await fixture.requireNone();
  await fixture.broker.units(async () => {});
  assert.equal(await items.ofEntity(id), empty);
});

test('the next accept deletes the items of an empty session whose holder let the lock expire', async (t) => {
  const fixture = await startSessions(t);
  const items = new StoredItems(fixture.broker);
  t.after(() => items.close());
  const id = await items.idOf('q');
  const empty = await items.ofEntity(id);
  await fixture.send('a', '1');
  await drain(await fixture.next());
  await fixture.accept('no-messages');
  fixture.endLocks();
  await fixture.requireNone();
  await fixture.broker.units(async () => {});
  assert.equal(await items.ofEntity(id), empty);
});

test('accepting sessions keeps a queue with AutoDeleteOnIdle, and without accepts it is deleted', async (t) => {
  const fixture = await startSessions(t, QUEUE, { AutoDeleteOnIdle: 'PT5M' });
  await fixture.send('a', '1');
  for (let i = 0; i < 8; i++) {
    fixture.advance({ minutes: 1 });
    const session = await fixture.accept('a');
    await session.release();
    await fixture.broker.sweep();
  }
  assert.equal((await fixture.broker.request('GET', 'q')).status, 200);
  await sweepForAnHour(fixture);
  assert.equal((await fixture.broker.request('GET', 'q')).status, 404);
});
