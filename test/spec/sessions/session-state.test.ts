import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { drain, lockOne, PLACES, settleAll, startSessions } from './session-scene.ts';

const KB = 1024;
const LARGEST = 256 * KB;

for (const place of PLACES) {
  test(`#95 the state of a session outlasts its lock and its messages until it is cleared (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('a', '1');
    const first = await scene.next();
    await first.setState('half way');
    assert.deepEqual(await drain(first), ['1']);
    await first.release();
    await scene.noneWaits();

    const second = await scene.accept('a');
    assert.equal(await second.state(), 'half way');
    scene.endLocks();
    const third = await scene.accept('a');
    assert.equal(await third.state(), 'half way');
    await third.clearState();
    assert.equal(await third.state(), undefined);
    await third.release();
    assert.equal(await (await scene.accept('a')).state(), undefined);
  });

  test(`#96 a new session has no state (${place.what})`, async (t) => {
    const scene = await startSessions(t, place);
    await scene.send('with', '1');
    for (const id of ['with', 'without']) {
      const session = await scene.accept(id);
      const answer = await session.request('GET', 'sessions/$state');
      assert.deepEqual([answer.status, answer.text], [204, '']);
      await session.clearState();
      assert.equal(await session.state(), undefined);
    }
  });
}

test('#95 a state is bytes of any kind and size up to 256 KB, each replaced by the next', async (t) => {
  const scene = await startSessions(t);
  const sizes = [1, 320, 321, 5 * KB, 100, LARGEST, 0, LARGEST - 1, 10];
  for (const size of sizes) {
    const bytes = new Uint8Array(randomBytes(size));
    const before = await scene.accept('a');
    await before.setState(bytes);
    await before.release();
    const session = await scene.accept('a');
    const answer = await session.request('GET', 'sessions/$state');
    assert.equal(answer.status, 200, `${size} bytes`);
    assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
    assert.deepEqual(Buffer.from(answer.bytes), Buffer.from(bytes));
    await session.release();
  }
});

test('#95 a state of more than 256 KB is refused, and the one before it stays', async (t) => {
  const scene = await startSessions(t);
  const session = await scene.accept('a');
  await session.setState('before');
  const body = 'x'.repeat(LARGEST + 1);
  const answer = await session.request('PUT', 'sessions/$state', { body });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers.get('x-dynabus-error'), 'ArgumentError');
  assert.match(answer.text, /The session state is 262145 bytes long; the limit is 262144\./);
  assert.equal(await session.state(), 'before');
});

test('#95 the time to live of messages does not touch the state, nor does a change of the queue', async (t) => {
  const scene = await startSessions(t, undefined, { DefaultMessageTimeToLive: 'PT10S' });
  await scene.send('a', '1');
  const session = await scene.next();
  await session.setState('x'.repeat(30 * KB));
  scene.advance({ days: 400 });
  await scene.broker.sweep();
  await scene.noneWaits();
  await scene.update({ DefaultMessageTimeToLive: 'PT20S' });
  const heir = await scene.accept('a');
  assert.equal(await heir.state(), 'x'.repeat(30 * KB));
  assert.deepEqual(await heir.peekLockMany(5), []);
});

test('states of sessions do not mix, and setting one is no delivery', async (t) => {
  const scene = await startSessions(t);
  const ids = ['a', 'b', 'a/b', 'a%2Fb', ''];
  for (const id of ids) {
    await scene.send(id, id);
    const session = await scene.accept(id);
    await session.setState(`state of ${id}`);
    await session.release();
  }
  for (const id of ids) {
    const session = await scene.accept(id);
    assert.equal(await session.state(), `state of ${id}`);
    const message = await lockOne(session);
    assert.deepEqual([message.body, message.broker.DeliveryCount], [id, 1]);
    await settleAll(session, [message]);
  }
});

test('of two states set at once by one holder the later read shows one of them, whole', async (t) => {
  const scene = await startSessions(t);
  const session = await scene.accept('a');
  for (let round = 0; round < 5; round++) {
    const states = ['x'.repeat(20 * KB), 'y'.repeat(20 * KB), 'small'];
    await Promise.all(states.map((state) => session.setState(state)));
    const state = await session.state();
    assert.ok(state !== undefined && states.includes(state));
    // What was replaced is cleared away behind the answer, never what stands.
    await scene.broker.units(async () => {});
    assert.equal(await session.state(), state);
  }
});
