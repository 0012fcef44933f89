import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { isoInstant } from '../queues/queue.ts';
import {
  drain,
  ENTITIES,
  inSession,
  lockOne,
  QUEUE,
  settleAll,
  startSessions,
} from './session-fixture.ts';

const LONG_AGO = '2025-01-01T00:00:00Z';
/** Sessions in a list of several pages, and how many of them have a state. */
const LISTED = isMore() ? 250 : 120;
const WITH_STATE = isMore() ? 30 : 12;

for (const entity of ENTITIES) {
  test(`#98 the list shows the sessions that have active messages, held or not (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    assert.deepEqual(await fixture.list(), []);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fixture.send(id, id);
    const byState = await fixture.accept('only-state');
    await byState.setState('x');
    const held = await fixture.accept('a');
    await lockOne(held);
    await drain(await fixture.accept('b'));
    const c = await fixture.accept('c');
    await settleAll(c, [await lockOne(c)], 'defer');
    const d = await fixture.accept('d');
    await settleAll(d, [await lockOne(d)], 'deadLetter');
    assert.deepEqual(await fixture.list(), ['a', 'e']);
    await fixture.send('b', 'once more');
    assert.deepEqual(await fixture.list(), ['a', 'b', 'e']);
  });

  test(`#99 the list with an instant shows the sessions whose state was set after it (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('no-state', 'x');
    for (const id of ['a', 'b', 'c']) {
      const session = await fixture.accept(id);
      await session.setState(`state of ${id}`);
      await session.release();
      fixture.advance({ seconds: 10 });
    }
    const after = (seconds: number) => fixture.list({ updatedAfter: isoInstant({ seconds }) });
    assert.deepEqual(await fixture.list({ updatedAfter: LONG_AGO }), ['a', 'b', 'c']);
    assert.deepEqual(await after(-1), ['a', 'b', 'c']);
    assert.deepEqual(await after(0), ['b', 'c']);
    assert.deepEqual(await after(15), ['c']);
    assert.deepEqual(await after(20), []);
    const a = await fixture.accept('a');
    await a.setState('changed');
    assert.deepEqual(await after(20), ['a']);
    const c = await fixture.accept('c');
    await c.clearState();
    assert.deepEqual(await after(-1), ['a', 'b']);
  });
}

test('#98 #99 the pages of a list join without a gap', async (t) => {
  const fixture = await startSessions(t);
  const ids = Array.from({ length: LISTED }, (_, i) => `s${String(i).padStart(3, '0')}`);
  for (let i = 0; i < ids.length; i += 40) {
    await fixture.sendBatch(ids.slice(i, i + 40).map((id) => inSession(id, 'x')));
  }
  // One session with many messages, in more than a page of blocks, must not hide the sessions after it.
  for (let i = 0; i < 8; i++) {
    const many = Array.from({ length: 500 }, (_, n) => inSession('s100', `${n}`.padEnd(300, 'x')));
    await fixture.sendBatch(many);
  }
  assert.deepEqual(await fixture.list(), ids.slice(0, 100));
  assert.deepEqual(await fixture.list({ top: 1000 }), ids);
  const pages: string[] = [];
  for (let skip = 0; ; skip += 50) {
    const page = await fixture.list({ skip, top: 50 });
    if (page.length === 0) break;
    pages.push(...page);
  }
  assert.deepEqual(pages, ids);
  for (const id of ids.slice(0, WITH_STATE)) {
    const session = await fixture.accept(id);
    await session.setState(id);
    await session.release();
  }
  const page = { updatedAfter: LONG_AGO, skip: 4, top: 4 };
  assert.deepEqual(await fixture.list(page), ids.slice(4, 8));
  const last = await fixture.list({ ...page, skip: WITH_STATE - 2 });
  assert.deepEqual(last, ids.slice(WITH_STATE - 2, WITH_STATE));
  assert.deepEqual(await fixture.list({ ...page, skip: WITH_STATE }), []);
});

test('#98 a message that is locked for its last delivery still counts as active', async (t) => {
  const fixture = await startSessions(t, undefined, { MaxDeliveryCount: '1' });
  await fixture.send('a', '1');
  await lockOne(await fixture.next());
  assert.deepEqual(await fixture.list(), ['a']);
  fixture.endLocks();
  assert.deepEqual(await fixture.list(), []);
});

test('#98 a session whose only message has expired is not listed', async (t) => {
  const fixture = await startSessions(t);
  await fixture.sendBatch([inSession('a', '1', { TimeToLive: 5 }), inSession('b', '2')]);
  assert.deepEqual(await fixture.list(), ['a', 'b']);
  fixture.advance({ seconds: 5 });
  assert.deepEqual(await fixture.list(), ['b']);
});

test('invalid page parameters of a list are refused', async (t) => {
  const fixture = await startSessions(t);
  for (const query of [
    'top=0',
    'top=1001',
    'top=x',
    'skip=-1',
    'skip=1.5',
    'updatedAfter=yesterday',
    'updatedAfter=',
  ]) {
    const answer = await fixture.broker.request('GET', `q/sessions/$list?${query}`);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.headers.get('x-dynabus-error'), 'ArgumentError');
  }
});

test('the answer to a refused session operation is JSON with the error code', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('plain'), 201);
  const answer = await broker.request('POST', 'plain/sessions/$accept?sessionId=a');
  assert.equal(answer.status, 400);
  assert.equal(answer.json<{ error: { code: string } }>().error.code, 'InvalidOperation');
});

test('#94 #98 a session that was released during its message’s only delivery is still listed', async (t) => {
  const fixture = await startSessions(t, QUEUE, { MaxDeliveryCount: '1' });
  await fixture.send('a', '1');
  const session = await fixture.accept('a');
  await lockOne(session);
  await session.release();
  assert.deepEqual(await fixture.list(), ['a']);
});
