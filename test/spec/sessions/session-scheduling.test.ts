import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, instant, numbers } from '../queues/queue.ts';
import { drain, ENTITIES, inSession, QUEUE, startSessions } from './session-fixture.ts';

const at = (seconds: number) => ({ ScheduledEnqueueTimeUtc: instant({ seconds }) });

for (const entity of ENTITIES) {
  test(`#63 a session can be accepted as the next one when its scheduled message is due (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.broker.schedule(entity.sendTo, [
      inSession('a', 'later', at(10)),
      inSession('b', 'latest', at(20)),
    ]);
    await fixture.requireNone();
    assert.deepEqual(await fixture.list(), []);
    const early = await fixture.accept('a');
    assert.deepEqual(await early.peekLockMany(5), []);
    await early.release();
    fixture.advance({ seconds: 9, ms: 999 });
    await fixture.requireNone();
    fixture.advance({ ms: 1 });
    assert.deepEqual(await fixture.list(), ['a']);
    assert.deepEqual(await drain(await fixture.nextIs('a')), ['later']);
    await fixture.requireNone();
    fixture.advance({ seconds: 10 });
    assert.deepEqual(await drain(await fixture.nextIs('b')), ['latest']);
  });

  test(`a scheduled message that comes due in a held session goes to its holder (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.broker.schedule(entity.sendTo, [inSession('a', 'later', at(10))]);
    const session = await fixture.accept('a');
    fixture.advance({ seconds: 10 });
    await fixture.requireNone();
    assert.deepEqual(bodies(await session.peekLockMany(5)), ['later']);
    await session.release();
    assert.deepEqual(await drain(await fixture.nextIs('a')), ['later']);
  });
}

test('#61 cancelling a sequence number cancels that scheduled message of a session and no other', async (t) => {
  const fixture = await startSessions(t);
  const { broker } = fixture;
  const sequences = await broker.schedule('q', [
    inSession('a', '1', at(10)),
    inSession('b', '2', at(10)),
    inSession('a', '3', at(10)),
    inSession('a', '4', at(20)),
  ]);
  assert.equal(new Set(sequences).size, 4);
  expectStatus(await broker.cancelScheduled('q', [sequences[2] ?? 0]), 200);
  expectStatus(await broker.cancelScheduled('q', [sequences[3] ?? 0]), 200);
  assert.equal((await broker.cancelScheduled('q', [sequences[2] ?? 0])).status, 404);
  fixture.advance({ seconds: 30 });
  assert.equal((await broker.cancelScheduled('q', [sequences[0] ?? 0])).status, 404);
  const sessions = [await fixture.next(), await fixture.next()];
  for (const session of sessions) {
    assert.deepEqual(await drain(session), session.id === 'a' ? ['1'] : ['2']);
  }
  await fixture.requireNone();
});

test('#64 a peek in a session shows its scheduled messages too, and none of other sessions', async (t) => {
  const fixture = await startSessions(t);
  const { broker } = fixture;
  await fixture.send('a', 'active');
  const [number] = await broker.schedule('q', [
    inSession('a', 'mine', at(10)),
    inSession('b', 'of b', at(10)),
  ]);
  const shown = await (await fixture.accept('a')).peek();
  assert.deepEqual(
    shown.map(({ body, broker: { State } }) => [body, State]),
    [
      ['active', 'Active'],
      ['mine', 'Scheduled'],
    ],
  );
  assert.equal(shown[1]?.broker.SequenceNumber, number);
  const withoutLock = await broker.request('GET', 'q/messages?sessionId=b');
  assert.deepEqual(
    withoutLock.json<{ Body: string }[]>().map(({ Body }) => Body),
    ['of b'],
  );
  const from = await broker.request(
    'GET',
    `q/messages?sessionId=a&fromSequenceNumber=${number ?? 0}`,
  );
  assert.deepEqual(
    from.json<{ Body: string }[]>().map(({ Body }) => Body),
    ['mine'],
  );
});

test('#63 large and small messages that come due together keep their order in each session', async (t) => {
  const fixture = await startSessions(t, QUEUE);
  const large = randomBytes(40 * 1024).toString('base64');
  const bodyOf = (i: number) => (i % 17 === 5 ? `${i} ${large}` : `${i}`);
  const all = Array.from({ length: 160 }, (_, i) =>
    inSession(`s${(i * 3) % 8}`, bodyOf(i), at(10)),
  );
  for (let i = 0; i < all.length; i += 40) {
    await fixture.broker.schedule('q', all.slice(i, i + 40));
  }
  await fixture.send('s0', 'before');
  fixture.advance({ seconds: 10 });
  await fixture.send('s0', 'after');
  const seen: number[] = [];
  for (let i = 0; i < 8; i++) {
    const session = await fixture.next();
    const messages = await session.peekLockMany(100);
    seen.push(...numbers(messages));
    const mine = all.filter((one) => one.BrokerProperties?.['SessionId'] === session.id);
    const scheduled = mine.map(({ Body }) => Body);
    const found = bodies(messages);
    if (session.id !== 's0') assert.deepEqual(found, scheduled);
    else {
      assert.deepEqual(
        found.filter((body) => !['before', 'after'].includes(body)),
        scheduled,
      );
      assert.equal(found[0], 'before');
    }
  }
  assert.equal(new Set(seen).size, 162);
  await fixture.requireNone();
});

test('#65 a message scheduled for an instant in the past can be received at once', async (t) => {
  const fixture = await startSessions(t);
  fixture.advance({ seconds: 30 });
  await fixture.broker.schedule('q', [
    inSession('a', 'late', at(10)),
    inSession('a', 'later', at(60)),
  ]);
  const session = await fixture.nextIs('a');
  assert.deepEqual(await drain(session), ['late']);
  fixture.advance({ seconds: 30 });
  assert.deepEqual(await drain(session), ['later']);
});

test('a waiting accept gets the session of a message that comes due', async (t) => {
  const fixture = await startSessions(t);
  await fixture.broker.schedule('q', [inSession('a', '1', at(10))]);
  const waiting = fixture.next(60);
  await fixture.requireNone();
  fixture.advance({ seconds: 10 });
  assert.equal((await waiting).id, 'a');
});

test('the sweep activates the due messages of a session, which is then listed', async (t) => {
  const fixture = await startSessions(t);
  await fixture.broker.schedule('q', [inSession('a', '1', at(10))]);
  fixture.advance({ minutes: 2 });
  await fixture.broker.sweep();
  assert.equal((await fixture.broker.runtimeProperties('q')).active, 1);
  assert.deepEqual(await fixture.list(), ['a']);
  assert.deepEqual(await drain(await fixture.nextIs('a')), ['1']);
});
