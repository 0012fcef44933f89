import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodies, having, numbers } from '../queues/queue.ts';
import {
  drain,
  inSession,
  lockOne,
  PLACES,
  QUEUE,
  settleAll,
  startSessions,
} from './session-scene.ts';

/** Ids that keys, addresses and patterns might take for something else. */
const ODD_IDS = [
  '',
  ' ',
  '/',
  '//',
  '~',
  '~0',
  '~1',
  '~/',
  '/~',
  'a',
  'a/',
  '/a',
  'a/b',
  'a~1b',
  'a%2Fb',
  '%',
  '%25',
  'a b',
  'a+b',
  'a&sessionLock=x',
  'a?b=c#d',
  '$accept',
  '$list',
  '*',
  'head',
  '.',
  '..',
  '"quoted"',
  "it's",
  'back\\slash',
  'ümläut',
  '会話',
  '🚌',
  'Ω≈ç√',
  'b000000000001',
  'A',
  'x'.repeat(128),
  '会'.repeat(128),
  '🚌'.repeat(64),
  '/'.repeat(128),
  '~'.repeat(128),
];

for (const place of PLACES) {
  test(`#97 the empty text is a session id like any other (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('', '1', '2');
    await scene.sendBatch([inSession('', '3'), inSession('a', 'other'), inSession('', '4')]);
    assert.deepEqual([...(await scene.list())].sort(), ['', 'a']);
    const session = await scene.nextIs('');
    assert.equal((await scene.acceptRaw('')).status, 409);
    const first = await lockOne(session);
    assert.equal(first.broker['SessionId'], '');
    await session.setState('of nobody');
    assert.equal(await session.state(), 'of nobody');
    await session.renew();
    await settleAll(session, [first]);
    assert.deepEqual(bodies(await session.peek()), ['2', '3', '4']);
    assert.deepEqual(await drain(session), ['2', '3', '4']);
    await session.release();
    assert.deepEqual(await drain(await scene.nextIs('a')), ['other']);
    await scene.noneWaits();
  });
}

test('#97 any text up to 128 characters is a session id, and none is taken for another', async (t) => {
  const scene = await startSessions(t);
  await scene.sendBatch(ODD_IDS.map((id, i) => inSession(id, `${i}`)));
  await scene.sendBatch(ODD_IDS.map((id, i) => inSession(id, `${i} again`)));
  assert.deepEqual([...(await scene.list({ top: 1000 }))].sort(), [...ODD_IDS].sort());
  const found: string[] = [];
  for (let i = 0; i < ODD_IDS.length; i++) {
    const session = await scene.next();
    const place = ODD_IDS.indexOf(session.id);
    assert.deepEqual(bodies(await session.peek()), [`${place}`, `${place} again`]);
    const [first, second] = await session.peekLockMany(5);
    assert.ok(first && second);
    assert.deepEqual([first.body, first.broker['SessionId']], [`${place}`, session.id]);
    await session.settle([having(first, 'complete'), having(second, 'defer')]);
    await session.setState(`of ${place}`);
    found.push(session.id);
  }
  assert.deepEqual(found.sort(), [...ODD_IDS].sort());
  await scene.noneWaits();
  scene.endLocks();
  for (const [i, id] of ODD_IDS.entries()) {
    const session = await scene.accept(id);
    assert.equal(await session.state(), `of ${i}`);
    const deferred = await session.receiveDeferred(numbers(await session.peek()));
    assert.deepEqual(bodies(deferred), [`${i} again`]);
    await settleAll(session, deferred, 'deadLetter');
  }
  const dead = await scene.broker.receiveAndDeleteMany(scene.dead, 100);
  assert.deepEqual(dead.map(({ broker }) => broker['SessionId']).sort(), [...ODD_IDS].sort());
  const states = await scene.list({ updatedAfter: '2025-01-01T00:00:00Z', top: 1000 });
  assert.deepEqual([...states].sort(), [...ODD_IDS].sort());
});

test('#97 a scheduled message finds its session under any id', async (t) => {
  const scene = await startSessions(t);
  const at = { ScheduledEnqueueTimeUtc: new Date(scene.broker.clock.now() + 5000).toISOString() };
  await scene.broker.schedule(
    'q',
    ODD_IDS.slice(0, 40).map((id) => inSession(id, id, at)),
  );
  await scene.noneWaits();
  scene.advance({ seconds: 5 });
  const found: string[] = [];
  for (let i = 0; i < 40; i++) {
    const session = await scene.next();
    assert.deepEqual(bodies(await session.peekLockMany(5)), [session.id]);
    found.push(session.id);
  }
  assert.deepEqual(found.sort(), ODD_IDS.slice(0, 40).sort());
});

test('an id of more than 128 characters is refused wherever it stands', async (t) => {
  const scene = await startSessions(t, QUEUE);
  const long = 'x'.repeat(129);
  const { broker } = scene;
  const lock = '00000000-0000-0000-0000-000000000000';
  for (const answer of [
    await broker.send('q', 'x', { SessionId: long }),
    await broker.sendBatch('q', [inSession(long, 'x')]),
    await scene.acceptRaw(long),
    await broker.request('GET', `q/messages?sessionId=${long}`),
    await broker.request('POST', `q/messages/head?sessionId=${long}&sessionLock=${lock}`),
    await broker.request('GET', `q/sessions/$state?sessionId=${long}&sessionLock=${lock}`),
  ]) {
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.headers.get('x-dynabus-error'), 'ArgumentError');
    assert.match(answer.text, /SessionId/);
    assert.match(answer.text, /128/);
  }
});
