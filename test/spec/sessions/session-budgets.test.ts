import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import { having } from '../queues/queue.ts';
import {
  drain,
  inSession,
  lockOne,
  type SessionScene,
  settleAll,
  startSessions,
} from './session-scene.ts';

/** A hundred thousand by hand; so many in each run. */
const SESSIONS = Number(process.env['DYNABUS_SESSIONS'] || 400);
const BATCH = 100;
const AT_ONCE = 4;

/** A process that knows the queue, and that nothing is scheduled there. */
async function startWarm(...options: Parameters<typeof startSessions>): Promise<SessionScene> {
  const scene = await startSessions(...options);
  const { broker } = scene;
  await scene.send('warm', '0');
  const session = await scene.accept('warm');
  assert.deepEqual(await drain(session), ['0']);
  await session.release();
  await scene.noneWaits();
  expectStatus(await broker.createQueue('plain'), 201);
  expectStatus(await broker.send('plain', '0'), 201);
  assert.ok(await broker.receiveAndDelete('plain'));
  return scene;
}

test('a small message into a session costs one write unit more than into a queue, once a second', async (t) => {
  const { broker } = await startWarm(t);
  const plain = await broker.units(() => broker.send('plain', 'x'));
  const first = await broker.units(() => broker.send('q', 'x', { SessionId: 'a' }));
  assert.equal(first.write, plain.write + 1);
  assert.ok(first.read <= plain.read + 1, `${first.read} read units`);
  t.diagnostic(`plain ${JSON.stringify(plain)}, session ${JSON.stringify(first)}`);
});

test('a message into a session that is held costs no more writes than into a queue', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  await scene.accept('a');
  const plain = await broker.units(() => broker.send('plain', 'x'));
  const held = await broker.units(() => broker.send('q', 'x', { SessionId: 'a' }));
  assert.equal(held.write, plain.write);
  assert.ok(held.read <= plain.read + 2, `${held.read} read units`);
});

test('a batch into one session costs one write unit more than into a queue', async (t) => {
  const { broker } = await startWarm(t);
  const batch = Array.from({ length: 100 }, (_, i) => inSession('a', `${i}`.padEnd(180, 'x')));
  const plain = await broker.units(() => broker.sendBatch('plain', batch));
  const session = await broker.units(() => broker.sendBatch('q', batch));
  assert.ok(session.write <= plain.write + 1, `${session.write} rather than ${plain.write}`);
});

test('to accept a session costs at most 3 write units, named or the next', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  for (const id of ['a', 'b', 'c']) await scene.send(id, '1');
  const next = await broker.units(() => scene.next());
  const named = await broker.units(() => scene.accept('c'));
  const idle = await startWarm(t);
  const none = await idle.broker.units(() => idle.noneWaits());
  t.diagnostic(JSON.stringify({ next, named, none }));
  assert.ok(next.write <= 3, `${next.write} write units`);
  assert.ok(next.read <= 4, `${next.read} read units`);
  assert.ok(named.write <= 3, `${named.write} write units`);
  assert.ok(named.read <= 1, `${named.read} read units`);
  assert.equal(none.write, 0);
  assert.ok(none.read <= 1, `an accept in vain costs ${none.read} read units`);
});

test('to receive and settle in a session costs the writes of a queue, and one read unit more', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  for (const outcome of ['complete', 'abandon', 'deadLetter', 'defer'] as const) {
    expectStatus(await broker.send('plain', 'x'), 201);
    await scene.send('a', 'x');
    const session = await scene.accept('a');
    const [one] = await broker.peekLockMany('plain', 1);
    assert.ok(one);
    const plain = await broker.units(() => broker.settle('plain', [having(one, outcome)]));
    const mine = await lockOne(session);
    const inside = await broker.units(() => session.settle([having(mine, outcome)]));
    t.diagnostic(`${outcome}: ${JSON.stringify({ plain, inside })}`);
    assert.ok(inside.write <= plain.write, `${outcome}: ${inside.write} write units`);
    assert.ok(inside.read <= plain.read + 1, `${outcome}: ${inside.read} read units`);
    await drain(session);
    await session.release();
    await broker.receiveAndDeleteMany('plain', 10);
  }
});

test('to receive in a session costs one write unit a block, and one read unit more than in a queue', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  const batch = Array.from({ length: 30 }, (_, i) => inSession('a', `${i}`));
  await scene.sendBatch(batch);
  expectStatus(await broker.sendBatch('plain', batch), 201);
  const session = await scene.accept('a');
  const plain = await broker.units(() => broker.peekLockMany('plain', 30));
  const inside = await broker.units(() => session.peekLockMany(30));
  assert.deepEqual([inside.write, plain.write], [1, 1]);
  assert.ok(inside.read <= plain.read + 1, `${inside.read} rather than ${plain.read} read units`);
});

test('to renew a session costs one write unit, to give it back at most 3, and a small state 1', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  await scene.send('a', '1', '2');
  const session = await scene.next();
  const [first] = await session.peekLockMany(1);
  assert.ok(first);
  const renew = await broker.units(() => session.renew());
  assert.deepEqual([renew.write, renew.read], [1, 0]);
  const set = await broker.units(() => session.setState('a small state'));
  assert.equal(set.write, 1);
  const get = await broker.units(() => session.state());
  assert.deepEqual([get.write, get.read], [0, 1]);
  await settleAll(session, [first]);
  const release = await broker.units(() => session.release());
  t.diagnostic(`release ${JSON.stringify(release)}`);
  assert.ok(release.write <= 3, `${release.write} write units`);
});

test('a state of 20 KB costs its size, whatever else is done with the session', async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  const session = await scene.accept('a');
  const large = new Uint8Array(randomBytes(20 * 1024));
  const set = await broker.units(() => session.setState(large));
  assert.ok(set.write <= 22, `${set.write} write units`);
  const renew = await broker.units(() => session.renew());
  assert.deepEqual([renew.write, renew.read], [1, 0]);
});

test(`among ${SESSIONS} sessions the next one costs as much as among few`, async (t) => {
  const scene = await startWarm(t);
  const { broker } = scene;
  const ids = Array.from({ length: SESSIONS }, (_, i) => `session-${String(i).padStart(6, '0')}`);
  const batches = Array.from({ length: Math.ceil(SESSIONS / BATCH) }, (_, i) =>
    ids.slice(i * BATCH, (i + 1) * BATCH).map((id) => inSession(id, id)),
  );
  for (let i = 0; i < batches.length; i += AT_ONCE) {
    await Promise.all(batches.slice(i, i + AT_ONCE).map((batch) => scene.sendBatch(batch)));
    scene.advance({ ms: 500 });
  }
  // In front: sessions that others hold by name, and sessions that others have emptied.
  const front = ids.slice(0, Math.min(400, SESSIONS / 4));
  for (let i = 0; i < front.length; i += 20) {
    await Promise.all(
      front.slice(i, i + 20).map(async (id, n) => {
        const session = await scene.accept(id);
        if (n % 2 === 0) return;
        await drain(session);
        await session.release();
      }),
    );
  }
  const first = await broker.units(() => scene.next());
  t.diagnostic(`first ${JSON.stringify(first)}`);
  // Each look in vain is paid once: two reads of a session, and the listing that goes.
  assert.ok(first.read <= 20 + 3 * front.length, `${first.read} read units`);
  const costs = { read: 0, write: 0 };
  for (let i = 0; i < 40; i++) {
    const { read, write } = await broker.units(() => scene.next());
    costs.read = Math.max(costs.read, read);
    costs.write = Math.max(costs.write, write);
  }
  t.diagnostic(`then at most ${JSON.stringify(costs)}`);
  assert.ok(costs.read <= 8, `${costs.read} read units`);
  assert.ok(costs.write <= 3, `${costs.write} write units`);
});

const SOME = 40;

/** A queue of some sessions, all of which are held. Many at once would compete for each of them. */
async function holdAll(scene: SessionScene): Promise<void> {
  for (let i = 0; i < SOME / 4; i++)
    await Promise.all(Array.from({ length: 4 }, () => scene.next()));
  await scene.noneWaits();
}

for (const isChanged of [false, true]) {
  const when = isChanged ? 'after a change of the queue' : 'as a rule';
  test(`while all sessions are held an accept in vain costs little, ${when}`, async (t) => {
    const scene = await startWarm(t);
    await scene.sendBatch(Array.from({ length: SOME }, (_, i) => inSession(`s${i}`, 'x')));
    await holdAll(scene);
    if (isChanged) {
      await scene.update({ MaxDeliveryCount: '9' });
      await holdAll(scene);
    }
    const { read, write } = await scene.broker.units(() => scene.noneWaits());
    t.diagnostic(JSON.stringify({ read, write }));
    assert.ok(read <= 10, `${read} read units`);
    assert.equal(write, 0);
  });
}
