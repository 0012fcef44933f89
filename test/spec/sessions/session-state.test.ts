import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { drain, ENTITIES, lockOne, settleAll, startSessions } from './session-fixture.ts';

const KB = 1024;
const LARGEST = 256 * KB;

for (const entity of ENTITIES) {
  test(`#95 the state of a session outlasts its lock and messages until it is cleared (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('a', '1');
    const first = await fixture.next();
    await first.setState('half way');
    assert.deepEqual(await drain(first), ['1']);
    await first.release();
    await fixture.requireNone();

    const second = await fixture.accept('a');
    assert.equal(await second.state(), 'half way');
    fixture.endLocks();
    const third = await fixture.accept('a');
    assert.equal(await third.state(), 'half way');
    await third.clearState();
    assert.equal(await third.state(), undefined);
    await third.release();
    assert.equal(await (await fixture.accept('a')).state(), undefined);
  });

  test(`#96 a new session has no state (${entity.kind})`, async (t) => {
    const fixture = await startSessions(t, entity);
    await fixture.send('with', '1');
    for (const id of ['with', 'without']) {
      const session = await fixture.accept(id);
      const answer = await session.request('GET', 'sessions/$state');
      assert.deepEqual([answer.status, answer.text], [204, '']);
      await session.clearState();
      assert.equal(await session.state(), undefined);
    }
  });
}

test('#95 a state is any bytes up to 256 KB, and each new state replaces the last one', async (t) => {
  const fixture = await startSessions(t);
  const sizes = [1, 320, 321, 5 * KB, 100, LARGEST, 0, LARGEST - 1, 10];
  for (const size of sizes) {
    const bytes = new Uint8Array(randomBytes(size));
    const before = await fixture.accept('a');
    await before.setState(bytes);
    await before.release();
    const session = await fixture.accept('a');
    const answer = await session.request('GET', 'sessions/$state');
    assert.equal(answer.status, 200, `${size} bytes`);
    assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
    assert.deepEqual(Buffer.from(answer.bytes), Buffer.from(bytes));
    await session.release();
  }
});

test('#95 a state of more than 256 KB is refused, and the previous state is kept', async (t) => {
  const fixture = await startSessions(t);
  const session = await fixture.accept('a');
  await session.setState('before');
  const body = 'x'.repeat(LARGEST + 1);
  const answer = await session.request('PUT', 'sessions/$state', { body });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers.get('x-dynabus-error'), 'ArgumentError');
  assert.match(answer.text, /The session state is 262145 bytes long; the limit is 262144\./);
  assert.equal(await session.state(), 'before');
});

test('#95 neither the time to live of messages nor an update of the queue changes the state', async (t) => {
  const fixture = await startSessions(t, undefined, { DefaultMessageTimeToLive: 'PT10S' });
  await fixture.send('a', '1');
  const session = await fixture.next();
  await session.setState('x'.repeat(30 * KB));
  fixture.advance({ days: 400 });
  await fixture.broker.sweep();
  await fixture.requireNone();
  await fixture.update({ DefaultMessageTimeToLive: 'PT20S' });
  const nextHolder = await fixture.accept('a');
  assert.equal(await nextHolder.state(), 'x'.repeat(30 * KB));
  assert.deepEqual(await nextHolder.peekLockMany(5), []);
});

test('each session has its own state, and setting it does not raise the DeliveryCount', async (t) => {
  const fixture = await startSessions(t);
  const ids = ['a', 'b', 'a/b', 'a%2Fb', ''];
  for (const id of ids) {
    await fixture.send(id, id);
    const session = await fixture.accept(id);
    await session.setState(`state of ${id}`);
    await session.release();
  }
  for (const id of ids) {
    const session = await fixture.accept(id);
    assert.equal(await session.state(), `state of ${id}`);
    const message = await lockOne(session);
    assert.deepEqual([message.body, message.broker.DeliveryCount], [id, 1]);
    await settleAll(session, [message]);
  }
});

test('a read after concurrent writes of the state returns one of the written states, complete', async (t) => {
  const fixture = await startSessions(t);
  const session = await fixture.accept('a');
  for (let round = 0; round < 5; round++) {
    const states = ['x'.repeat(20 * KB), 'y'.repeat(20 * KB), 'small'];
    await Promise.all(states.map((state) => session.setState(state)));
    const state = await session.state();
    assert.ok(state !== undefined && states.includes(state));
    // After the answer the broker deletes the replaced states, and never the current one.
    await fixture.broker.units(async () => {});
    assert.equal(await session.state(), state);
  }
});
