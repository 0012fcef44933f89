import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { settlementOf } from '../queues/queue.ts';
import {
  drain,
  inSession,
  lockOne,
  type SessionFixture,
  settleAll,
  startSessions,
} from './session-fixture.ts';

/** Set the variable to 100,000 to measure by hand. */
const SESSIONS = Number(process.env['DYNABUS_SESSIONS'] || (isMore() ? 400 : 120));
const BATCH = 100;
const PARALLEL = 4;

/** A process that has already cached the queue's settings, and that it has no scheduled messages. */
async function startWarm(...options: Parameters<typeof startSessions>): Promise<SessionFixture> {
  const fixture = await startSessions(...options);
  const { broker } = fixture;
  await fixture.send('warm', '0');
  const session = await fixture.accept('warm');
  assert.deepEqual(await drain(session), ['0']);
  await session.release();
  await fixture.requireNone();
  expectStatus(await broker.createQueue('plain'), 201);
  expectStatus(await broker.send('plain', '0'), 201);
  assert.ok(await broker.receiveAndDelete('plain'));
  return fixture;
}

test('the first small message of a second to a session costs one write unit more than to a plain queue', async (t) => {
  const { broker } = await startWarm(t);
  const plain = await broker.units(() => broker.send('plain', 'x'));
  const first = await broker.units(() => broker.send('q', 'x', { SessionId: 'a' }));
  assert.equal(first.write, plain.write + 1);
  assert.ok(first.read <= plain.read + 1, `${first.read} read units`);
  t.diagnostic(`plain ${JSON.stringify(plain)}, session ${JSON.stringify(first)}`);
});

test('sending to a session that is held costs no more write units than to a plain queue', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  await fixture.accept('a');
  const plain = await broker.units(() => broker.send('plain', 'x'));
  const held = await broker.units(() => broker.send('q', 'x', { SessionId: 'a' }));
  assert.equal(held.write, plain.write);
  assert.ok(held.read <= plain.read + 2, `${held.read} read units`);
});

test('a batch for one session costs at most one write unit more than for a plain queue', async (t) => {
  const { broker } = await startWarm(t);
  const batch = Array.from({ length: 100 }, (_, i) => inSession('a', `${i}`.padEnd(180, 'x')));
  const plain = await broker.units(() => broker.sendBatch('plain', batch));
  const session = await broker.units(() => broker.sendBatch('q', batch));
  assert.ok(session.write <= plain.write + 1, `${session.write} rather than ${plain.write}`);
});

test('accepting a session costs at most 3 write units, by its id or as the next one', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  for (const id of ['a', 'b', 'c']) await fixture.send(id, '1');
  const next = await broker.units(() => fixture.next());
  const named = await broker.units(() => fixture.accept('c'));
  const idle = await startWarm(t);
  const none = await idle.broker.units(() => idle.requireNone());
  t.diagnostic(JSON.stringify({ next, named, none }));
  assert.ok(next.write <= 3, `${next.write} write units`);
  assert.ok(next.read <= 3, `${next.read} read units`);
  assert.ok(named.write <= 3, `${named.write} write units`);
  assert.ok(named.read <= 1, `${named.read} read units`);
  assert.equal(none.write, 0);
  assert.ok(none.read <= 1, `an accept that finds no session costs ${none.read} read units`);
});

test('settling in a session costs the write units of a plain queue, and at most one read unit more', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  for (const outcome of ['complete', 'abandon', 'deadLetter', 'defer'] as const) {
    expectStatus(await broker.send('plain', 'x'), 201);
    await fixture.send('a', 'x');
    const session = await fixture.accept('a');
    const [one] = await broker.peekLockMany('plain', 1);
    assert.ok(one);
    const plain = await broker.units(() => broker.settle('plain', [settlementOf(one, outcome)]));
    const mine = await lockOne(session);
    const inside = await broker.units(() => session.settle([settlementOf(mine, outcome)]));
    t.diagnostic(`${outcome}: ${JSON.stringify({ plain, inside })}`);
    assert.ok(inside.write <= plain.write, `${outcome}: ${inside.write} write units`);
    assert.ok(inside.read <= plain.read + 1, `${outcome}: ${inside.read} read units`);
    await drain(session);
    await session.release();
    await broker.receiveAndDeleteMany('plain', 10);
  }
});

test('receiving in a session costs one write unit a block, and one read unit more than from a plain queue', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  const batch = Array.from({ length: 30 }, (_, i) => inSession('a', `${i}`));
  await fixture.sendBatch(batch);
  expectStatus(await broker.sendBatch('plain', batch), 201);
  const session = await fixture.accept('a');
  const plain = await broker.units(() => broker.peekLockMany('plain', 30));
  const inside = await broker.units(() => session.peekLockMany(30));
  assert.deepEqual([inside.write, plain.write], [1, 1]);
  assert.ok(inside.read <= plain.read + 1, `${inside.read} rather than ${plain.read} read units`);
});

test('renewing a session costs one write unit, setting a small state 1, and releasing the session at most 3', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  await fixture.send('a', '1', '2');
  const session = await fixture.next();
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

test('setting a state of 20 KB costs its size, and renewing the session does not pay for it again', async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  const session = await fixture.accept('a');
  const large = new Uint8Array(randomBytes(20 * 1024));
  const set = await broker.units(() => session.setState(large));
  assert.ok(set.write <= 22, `${set.write} write units`);
  const renew = await broker.units(() => session.renew());
  assert.deepEqual([renew.write, renew.read], [1, 0]);
});

test(`accepting the next of ${SESSIONS} sessions costs as much as accepting the next of a few`, async (t) => {
  const fixture = await startWarm(t);
  const { broker } = fixture;
  const ids = Array.from({ length: SESSIONS }, (_, i) => `session-${String(i).padStart(6, '0')}`);
  const batches = Array.from({ length: Math.ceil(SESSIONS / BATCH) }, (_, i) =>
    ids.slice(i * BATCH, (i + 1) * BATCH).map((id) => inSession(id, id)),
  );
  for (let i = 0; i < batches.length; i += PARALLEL) {
    await Promise.all(batches.slice(i, i + PARALLEL).map((batch) => fixture.sendBatch(batch)));
    fixture.advance({ ms: 500 });
  }
  // The first sessions in the index: half are held, half were emptied and released.
  const front = ids.slice(0, Math.min(400, SESSIONS / 4));
  for (let i = 0; i < front.length; i += 20) {
    await Promise.all(
      front.slice(i, i + 20).map(async (id, n) => {
        const session = await fixture.accept(id);
        if (n % 2 === 0) return;
        await drain(session);
        await session.release();
      }),
    );
  }
  const first = await broker.units(() => fixture.next());
  t.diagnostic(`first ${JSON.stringify(first)}`);
  // Each of them costs one failed attempt: two reads of the session, and removing its index entry.
  assert.ok(first.read <= 20 + 3 * front.length, `${first.read} read units`);
  const costs = { read: 0, write: 0 };
  for (let i = 0; i < (isMore() ? 40 : 15); i++) {
    const { read, write } = await broker.units(() => fixture.next());
    costs.read = Math.max(costs.read, read);
    costs.write = Math.max(costs.write, write);
  }
  t.diagnostic(`then at most ${JSON.stringify(costs)}`);
  assert.ok(costs.read <= 8, `${costs.read} read units`);
  assert.ok(costs.write <= 3, `${costs.write} write units`);
});

const COUNT = isMore() ? 40 : 20;

/** Accepts all sessions of the queue, four at a time: more accepts would compete for the same ones. */
async function holdAll(fixture: SessionFixture): Promise<void> {
  for (let i = 0; i < COUNT / 4; i++)
    await Promise.all(Array.from({ length: 4 }, () => fixture.next()));
  await fixture.requireNone();
}

for (const isChanged of [false, true]) {
  const when = isChanged ? ' after an update of the queue' : '';
  test(`an accept costs at most 10 read units while all sessions are held${when}`, async (t) => {
    const fixture = await startWarm(t);
    await fixture.sendBatch(Array.from({ length: COUNT }, (_, i) => inSession(`s${i}`, 'x')));
    await holdAll(fixture);
    if (isChanged) {
      await fixture.update({ MaxDeliveryCount: '9' });
      await holdAll(fixture);
    }
    const { read, write } = await fixture.broker.units(() => fixture.requireNone());
    t.diagnostic(JSON.stringify({ read, write }));
    assert.ok(read <= 10, `${read} read units`);
    assert.equal(write, 0);
  });
}
