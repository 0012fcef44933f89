import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, instant, numbers } from '../queues/queue.ts';
import { drain, inSession, PLACES, QUEUE, startSessions } from './session-scene.ts';

const at = (seconds: number) => ({ ScheduledEnqueueTimeUtc: instant({ seconds }) });

for (const place of PLACES) {
  test(`#63 a scheduled message brings its session to life when it is due (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.broker.schedule(place.sendTo, [
      inSession('a', 'later', at(10)),
      inSession('b', 'latest', at(20)),
    ]);
    await scene.noneWaits();
    assert.deepEqual(await scene.list(), []);
    const early = await scene.accept('a');
    assert.deepEqual(await early.peekLockMany(5), []);
    await early.release();
    scene.advance({ seconds: 9, ms: 999 });
    await scene.noneWaits();
    scene.advance({ ms: 1 });
    assert.deepEqual(await scene.list(), ['a']);
    assert.deepEqual(await drain(await scene.nextIs('a')), ['later']);
    await scene.noneWaits();
    scene.advance({ seconds: 10 });
    assert.deepEqual(await drain(await scene.nextIs('b')), ['latest']);
  });

  test(`what comes due in a held session goes to its holder (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.broker.schedule(place.sendTo, [inSession('a', 'later', at(10))]);
    const session = await scene.accept('a');
    scene.advance({ seconds: 10 });
    await scene.noneWaits();
    assert.deepEqual(bodies(await session.peekLockMany(5)), ['later']);
    await session.release();
    assert.deepEqual(await drain(await scene.nextIs('a')), ['later']);
  });
}

test('#61 a scheduled message of a session is cancelled by its number, and no other', async (t) => {
  const scene = await startSessions(t);
  const { broker } = scene;
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
  scene.advance({ seconds: 30 });
  assert.equal((await broker.cancelScheduled('q', [sequences[0] ?? 0])).status, 404);
  const sessions = [await scene.next(), await scene.next()];
  for (const session of sessions) {
    assert.deepEqual(await drain(session), session.id === 'a' ? ['1'] : ['2']);
  }
  await scene.noneWaits();
});

test('#64 peeking into a session shows its scheduled and deferred messages, and no others', async (t) => {
  const scene = await startSessions(t);
  const { broker } = scene;
  await scene.send('a', 'active');
  const [number] = await broker.schedule('q', [
    inSession('a', 'mine', at(10)),
    inSession('b', 'of b', at(10)),
  ]);
  const shown = await (await scene.accept('a')).peek();
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

test('#63 what comes due together keeps the order in each session, large and small', async (t) => {
  const scene = await startSessions(t, QUEUE);
  const large = randomBytes(40 * 1024).toString('base64');
  const bodyOf = (i: number) => (i % 17 === 5 ? `${i} ${large}` : `${i}`);
  const all = Array.from({ length: 160 }, (_, i) =>
    inSession(`s${(i * 3) % 8}`, bodyOf(i), at(10)),
  );
  for (let i = 0; i < all.length; i += 40) {
    await scene.broker.schedule('q', all.slice(i, i + 40));
  }
  await scene.send('s0', 'before');
  scene.advance({ seconds: 10 });
  await scene.send('s0', 'after');
  const seen: number[] = [];
  for (let i = 0; i < 8; i++) {
    const session = await scene.next();
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
  await scene.noneWaits();
});

test('#65 a message scheduled at an instant that is past is there at once', async (t) => {
  const scene = await startSessions(t);
  scene.advance({ seconds: 30 });
  await scene.broker.schedule('q', [
    inSession('a', 'late', at(10)),
    inSession('a', 'later', at(60)),
  ]);
  const session = await scene.nextIs('a');
  assert.deepEqual(await drain(session), ['late']);
  scene.advance({ seconds: 30 });
  assert.deepEqual(await drain(session), ['later']);
});

test('an accept that waits gets the session of a message that comes due', async (t) => {
  const scene = await startSessions(t);
  await scene.broker.schedule('q', [inSession('a', '1', at(10))]);
  const waiting = scene.next(60);
  await scene.noneWaits();
  scene.advance({ seconds: 10 });
  assert.equal((await waiting).id, 'a');
});

test('the sweep makes due messages of a session active, and lists their session', async (t) => {
  const scene = await startSessions(t);
  await scene.broker.schedule('q', [inSession('a', '1', at(10))]);
  scene.advance({ minutes: 2 });
  await scene.broker.sweep();
  assert.equal((await scene.broker.runtimeProperties('q')).active, 1);
  assert.deepEqual(await scene.list(), ['a']);
  assert.deepEqual(await drain(await scene.nextIs('a')), ['1']);
});
