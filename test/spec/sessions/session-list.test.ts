import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { isoInstant } from '../queues/queue.ts';
import {
  drain,
  inSession,
  lockOne,
  PLACES,
  QUEUE,
  settleAll,
  startSessions,
} from './session-scene.ts';

const LONG_AGO = '2025-01-01T00:00:00Z';

for (const place of PLACES) {
  test(`#98 sessions with active messages are listed, held or not (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    assert.deepEqual(await scene.list(), []);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await scene.send(id, id);
    const byState = await scene.accept('only-state');
    await byState.setState('x');
    const held = await scene.accept('a');
    await lockOne(held);
    await drain(await scene.accept('b'));
    const c = await scene.accept('c');
    await settleAll(c, [await lockOne(c)], 'defer');
    const d = await scene.accept('d');
    await settleAll(d, [await lockOne(d)], 'deadLetter');
    assert.deepEqual(await scene.list(), ['a', 'e']);
    await scene.send('b', 'once more');
    assert.deepEqual(await scene.list(), ['a', 'b', 'e']);
  });

  test(`#99 sessions whose state was set after an instant are listed (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('no-state', 'x');
    for (const id of ['a', 'b', 'c']) {
      const session = await scene.accept(id);
      await session.setState(`state of ${id}`);
      await session.release();
      scene.advance({ seconds: 10 });
    }
    const after = (seconds: number) => scene.list({ updatedAfter: isoInstant({ seconds }) });
    assert.deepEqual(await scene.list({ updatedAfter: LONG_AGO }), ['a', 'b', 'c']);
    assert.deepEqual(await after(-1), ['a', 'b', 'c']);
    assert.deepEqual(await after(0), ['b', 'c']);
    assert.deepEqual(await after(15), ['c']);
    assert.deepEqual(await after(20), []);
    const a = await scene.accept('a');
    await a.setState('changed');
    assert.deepEqual(await after(20), ['a']);
    const c = await scene.accept('c');
    await c.clearState();
    assert.deepEqual(await after(-1), ['a', 'b']);
  });
}

test('#98 #99 lists come in pages that join without a gap', async (t) => {
  const scene = await startSessions(t);
  const ids = Array.from({ length: 250 }, (_, i) => `s${String(i).padStart(3, '0')}`);
  for (let i = 0; i < ids.length; i += 50) {
    // Many messages in one session must not hide the next.
    await scene.sendBatch(ids.slice(i, i + 50).map((id) => inSession(id, 'x')));
  }
  for (let i = 0; i < 5; i++) {
    const many = Array.from({ length: 500 }, (_, n) => inSession('s100', `${n}`.padEnd(300, 'x')));
    await scene.sendBatch(many);
  }
  assert.deepEqual(await scene.list(), ids.slice(0, 100));
  assert.deepEqual(await scene.list({ top: 1000 }), ids);
  const pages: string[] = [];
  for (let skip = 0; ; skip += 60) {
    const page = await scene.list({ skip, top: 60 });
    if (page.length === 0) break;
    pages.push(...page);
  }
  assert.deepEqual(pages, ids);
  for (const id of ids.slice(0, 30)) {
    const session = await scene.accept(id);
    await session.setState(id);
    await session.release();
  }
  const page = { updatedAfter: LONG_AGO, skip: 10, top: 10 };
  assert.deepEqual(await scene.list(page), ids.slice(10, 20));
  assert.deepEqual(await scene.list({ ...page, skip: 25 }), ids.slice(25, 30));
  assert.deepEqual(await scene.list({ ...page, skip: 30 }), []);
});

test('#98 a message that is held for the last time is active still', async (t) => {
  const scene = await startSessions(t, undefined, { MaxDeliveryCount: '1' });
  await scene.send('a', '1');
  await lockOne(await scene.next());
  assert.deepEqual(await scene.list(), ['a']);
  scene.endLocks();
  assert.deepEqual(await scene.list(), []);
});

test('#98 a message that has expired makes no session', async (t) => {
  const scene = await startSessions(t);
  await scene.sendBatch([inSession('a', '1', { TimeToLive: 5 }), inSession('b', '2')]);
  assert.deepEqual(await scene.list(), ['a', 'b']);
  scene.advance({ seconds: 5 });
  assert.deepEqual(await scene.list(), ['b']);
});

test('bad pages of a list are refused', async (t) => {
  const scene = await startSessions(t);
  for (const query of [
    'top=0',
    'top=1001',
    'top=x',
    'skip=-1',
    'skip=1.5',
    'updatedAfter=yesterday',
    'updatedAfter=',
  ]) {
    const answer = await scene.broker.request('GET', `q/sessions/$list?${query}`);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.headers.get('x-dynabus-error'), 'ArgumentError');
  }
});

test('a refusal of a call about sessions is JSON, and names the entity it is about', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('plain'), 201);
  const answer = await broker.request('POST', 'plain/sessions/$accept?sessionId=a');
  assert.equal(answer.status, 400);
  assert.equal(answer.json<{ error: { code: string } }>().error.code, 'InvalidOperation');
});

test('#94 #98 a session whose message was given back on its only delivery is listed', async (t) => {
  const scene = await startSessions(t, QUEUE, { MaxDeliveryCount: '1' });
  await scene.send('a', '1');
  const session = await scene.accept('a');
  await lockOne(session);
  await session.release();
  assert.deepEqual(await scene.list(), ['a']);
});
