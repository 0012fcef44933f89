import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Received } from '../../support/test-broker.ts';
import { bodies } from '../queues/queue.ts';
import {
  deliveryCounts,
  ENTITIES,
  inSession,
  LOCK_SECONDS,
  lockOne,
  QUEUE,
  settleAll,
  startSessions,
} from './session-fixture.ts';

/** A peek of an entity with sessions that names none (semantics S12). */

const AT = '2033-11-06T08:49:37Z';

function shown(messages: readonly Received[]) {
  return messages.map(({ body, broker: { SessionId, State } }) => [body, SessionId, State]);
}

for (const entity of ENTITIES) {
  test(`#73 S12 a peek of a session ${entity.kind} that names no session shows all of them in order of numbers`, async (t) => {
    const fixture = await startSessions(t, entity);
    const { broker, path } = fixture;
    await fixture.send('b', 'locked', 'deferred');
    await fixture.send('a', 'active');
    await fixture.send('only deferred', 'later');
    await fixture.send('b', 'last');
    if (entity === QUEUE)
      await broker.schedule('q', [inSession('s', 'due', { ScheduledEnqueueTimeUtc: AT })]);
    const held = await fixture.accept('b');
    const [, second] = await held.peekLockMany(2);
    assert.ok(second);
    await settleAll(held, [second], 'defer');
    const other = await fixture.accept('only deferred');
    await settleAll(other, [await lockOne(other)], 'defer');
    await other.release();
    const all = await broker.peek(path);
    const expected = [
      ['locked', 'b', 'Active'],
      ['deferred', 'b', 'Deferred'],
      ['active', 'a', 'Active'],
      ['later', 'only deferred', 'Deferred'],
      ['last', 'b', 'Active'],
      ...(entity === QUEUE ? [['due', 's', 'Scheduled']] : []),
    ];
    assert.deepEqual(shown(all), expected);
    const third = all[2]?.broker.SequenceNumber ?? 0;
    assert.deepEqual(shown(await broker.peek(path, { from: third, max: 2 })), expected.slice(2, 4));
    // Nothing was locked, and no delivery counted.
    assert.deepEqual(bodies(await (await fixture.nextIs('a')).peekLockMany(5)), ['active']);
  });
}

test('S12 #72 peeks from the last number + 1 on show each message of all sessions once, in order', async (t) => {
  const fixture = await startSessions(t);
  const ids = ['b', '', '~', '/', 'a/b', '~1', 'ä', 'a'];
  const sent: string[] = [];
  for (let i = 0; i < 12; i++) {
    const id = ids[(i * 5) % ids.length] ?? '';
    const batch = [0, 1, 2].map((k) => `${i} ${k} of ${id}`);
    await fixture.sendBatch(batch.map((body) => inSession(id, body)));
    sent.push(...batch);
  }
  for (const max of [1, 7, 250]) {
    const found: Received[] = [];
    for (let from = 0; ; from = (found.at(-1)?.broker.SequenceNumber ?? 0) + 1) {
      const page = await fixture.broker.peek('q', { from, max });
      if (page.length === 0) break;
      assert.ok(page.length <= max);
      found.push(...page);
    }
    assert.deepEqual(bodies(found), sent, `${max} at a time`);
  }
});

test('S12 an answer of large messages ends after 256 KB, and the next one goes on', async (t) => {
  const fixture = await startSessions(t);
  const sent = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(60_000, 'x'));
  for (const [i, body] of sent.entries()) await fixture.send(`s${(i * 3) % 5}`, body);
  const first = await fixture.broker.peek('q');
  assert.deepEqual(bodies(first), sent.slice(0, 4));
  const from = (first.at(-1)?.broker.SequenceNumber ?? 0) + 1;
  assert.deepEqual(bodies(await fixture.broker.peek('q', { from })), sent.slice(4, 8));
});

test('S12 #94 M13 a peek of all sessions counts the deliveries that failed, as the lock of each session says', async (t) => {
  const fixture = await startSessions(t);
  for (const id of ['lapsed', 'released', 'held', 'never']) await fixture.send(id, id);
  const sessions = await Promise.all(
    ['lapsed', 'released', 'held'].map((id) => fixture.accept(id)),
  );
  for (const session of sessions) await lockOne(session);
  const [, released, held] = sessions;
  await released?.release();
  fixture.advance({ seconds: LOCK_SECONDS - 1 });
  await held?.renew();
  fixture.advance({ seconds: 1 });
  const messages = await fixture.broker.peek('q');
  assert.deepEqual(bodies(messages), ['lapsed', 'released', 'held', 'never']);
  assert.deepEqual(deliveryCounts(messages), [1, 0, 0, 0]);
});

test('S12 #P14 a peek of a partitioned session queue shows one partition after the other', async (t) => {
  const fixture = await startSessions(t, QUEUE, { EnablePartitioning: 'true' });
  const sent = Array.from({ length: 60 }, (_, i) => `${i}`);
  for (const body of sent) await fixture.send(`s${Number(body) % 20}`, body);
  const found: Received[] = [];
  for (let from = 0n; ; from = BigInt(found.at(-1)?.broker.SequenceNumber ?? 0) + 1n) {
    const page = await fixture.broker.peek('q', { from, max: 7 });
    if (page.length === 0) break;
    found.push(...page);
  }
  assert.deepEqual(bodies(found).sort(), [...sent].sort());
  const numbers = found.map(({ broker: { SequenceNumber } }) => SequenceNumber);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  assert.ok(new Set(numbers.map((number) => Math.floor(number / 2 ** 48))).size > 5);
});

test('S12 a peek of all sessions reads their small blocks, and writes nothing', async (t) => {
  const fixture = await startSessions(t);
  const { broker } = fixture;
  const sessions = Array.from({ length: 100 }, (_, i) => `session-${String(i).padStart(3, '0')}`);
  await fixture.sendBatch(sessions.map((id) => inSession(id, 'x'.repeat(100))));
  await broker.peek('q');
  const units = await broker.units(() => broker.peek('q', { max: 1 }));
  t.diagnostic(JSON.stringify(units));
  // 24 KB of blocks, and a query for scheduled messages that finds none.
  assert.deepEqual(units, { read: 7, write: 0, requests: 2, roundTrips: 2 });
});

test('S12 #75 a peek of all sessions shows no dead letters, and after a purge nothing', async (t) => {
  const fixture = await startSessions(t);
  const { broker } = fixture;
  await fixture.send('a', 'bad', 'good');
  const session = await fixture.accept('a');
  await settleAll(session, [await lockOne(session)], 'deadLetter');
  assert.deepEqual(bodies(await broker.peek('q')), ['good']);
  assert.deepEqual(bodies(await broker.peek(fixture.dead)), ['bad']);
  await broker.purge('q');
  assert.deepEqual(await broker.peek('q'), []);
});
