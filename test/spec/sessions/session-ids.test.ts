import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { bodies, numbers, settlementOf } from '../queues/queue.ts';
import {
  drain,
  ENTITIES,
  inSession,
  lockOne,
  QUEUE,
  settleAll,
  startSessions,
} from './session-fixture.ts';

/** Ids that could be misread in keys, URLs or patterns. */
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

for (const entity of ENTITIES) {
  test(`#97 the empty string is a session id like any other (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('', '1', '2');
    await fixture.sendBatch([inSession('', '3'), inSession('a', 'other'), inSession('', '4')]);
    assert.deepEqual([...(await fixture.list())].sort(), ['', 'a']);
    const session = await fixture.nextIs('');
    assert.equal((await fixture.acceptRaw('')).status, 409);
    const first = await lockOne(session);
    assert.equal(first.broker['SessionId'], '');
    await session.setState('of the empty id');
    assert.equal(await session.state(), 'of the empty id');
    await session.renew();
    await settleAll(session, [first]);
    assert.deepEqual(bodies(await session.peek()), ['2', '3', '4']);
    assert.deepEqual(await drain(session), ['2', '3', '4']);
    await session.release();
    assert.deepEqual(await drain(await fixture.nextIs('a')), ['other']);
    await fixture.requireNone();
  });
}

test('#97 any text of up to 128 characters is a session id, and no id is mistaken for another', async (t) => {
  const fixture = await startSessions(t);
  await fixture.sendBatch(ODD_IDS.map((id, i) => inSession(id, `${i}`)));
  await fixture.sendBatch(ODD_IDS.map((id, i) => inSession(id, `${i} again`)));
  assert.deepEqual([...(await fixture.list({ top: 1000 }))].sort(), [...ODD_IDS].sort());
  const found: string[] = [];
  const deferredNumbers = new Map<string, number>();
  for (let i = 0; i < ODD_IDS.length; i++) {
    const session = await fixture.next();
    const index = ODD_IDS.indexOf(session.id);
    assert.deepEqual(bodies(await session.peek()), [`${index}`, `${index} again`]);
    const [first, second] = await session.peekLockMany(5);
    assert.ok(first && second);
    assert.deepEqual([first.body, first.broker['SessionId']], [`${index}`, session.id]);
    await session.settle([settlementOf(first, 'complete'), settlementOf(second, 'defer')]);
    await session.setState(`of ${index}`);
    deferredNumbers.set(session.id, second.broker.SequenceNumber);
    found.push(session.id);
  }
  assert.deepEqual(found.sort(), [...ODD_IDS].sort());
  await fixture.requireNone();
  fixture.endLocks();
  for (const [i, id] of ODD_IDS.entries()) {
    const session = await fixture.accept(id);
    assert.equal(await session.state(), `of ${i}`);
    const number = deferredNumbers.get(id) ?? assert.fail();
    assert.deepEqual(numbers(await session.peek()), [number]);
    const deferred = await session.receiveDeferred([number]);
    assert.deepEqual(bodies(deferred), [`${i} again`]);
    await settleAll(session, deferred, 'deadLetter');
  }
  const dead = await fixture.broker.receiveAndDeleteMany(fixture.dead, 100);
  assert.deepEqual(dead.map(({ broker }) => broker['SessionId']).sort(), [...ODD_IDS].sort());
  const states = await fixture.list({ updatedAfter: '2025-01-01T00:00:00Z', top: 1000 });
  assert.deepEqual([...states].sort(), [...ODD_IDS].sort());
});

test('#97 a scheduled message reaches its session under any id', async (t) => {
  const ids = ODD_IDS.filter((_, i) => isMore() || i % 2 === 0);
  const fixture = await startSessions(t);
  const at = { ScheduledEnqueueTimeUtc: new Date(fixture.broker.clock.now() + 5000).toISOString() };
  await fixture.broker.schedule(
    'q',
    ids.map((id) => inSession(id, id, at)),
  );
  await fixture.requireNone();
  fixture.advance({ seconds: 5 });
  const found: string[] = [];
  for (const _ of ids) {
    const session = await fixture.next();
    assert.deepEqual(bodies(await session.peekLockMany(5)), [session.id]);
    found.push(session.id);
  }
  assert.deepEqual(found.sort(), ids.sort());
});

test('a session id of more than 128 characters is refused by every operation', async (t) => {
  const fixture = await startSessions(t, QUEUE);
  const long = 'x'.repeat(129);
  const { broker } = fixture;
  const lock = '00000000-0000-0000-0000-000000000000';
  for (const answer of [
    await broker.send('q', 'x', { SessionId: long }),
    await broker.sendBatch('q', [inSession(long, 'x')]),
    await fixture.acceptRaw(long),
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
