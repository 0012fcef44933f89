import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atMost, DONE, Scene } from './push-scene.ts';

/** What changes about a consumer and its queue while a target works for long, in virtual time. */

const MINUTE = 60_000;
/** The call with the message `slow` takes as long as it may. */
const SLOW = { timeoutMs: MINUTE };

/** A scene whose target works a minute on the message `slow`. */
function slowScene(): Scene {
  return new Scene((_, ids) => ({ ms: ids.includes('slow') ? MINUTE - 1 : 10, reply: DONE }));
}

test('a consumer that is enabled again pushes at once, although an earlier call goes on', async () => {
  const scene = slowScene();
  await scene.play(async () => {
    await scene.create({ 'main/c': SLOW });
    await scene.send(['slow']);
    await scene.pause(1000);
    await scene.put('main/c', { enabled: false });
    // A look that waits for messages takes up to 10 s.
    await scene.pause(12_000);
    await scene.send(['next']);
    await scene.put('main/c', { enabled: true });
    const since = scene.now;
    await scene.pause(5 * MINUTE);
    atMost((scene.timesOf('next')[0] ?? Infinity) - since, 5000, 'The next message waited');
    assert.equal(scene.timesOf('slow').length, 1);
  });
});

test('a queue that receives again is pushed at once, although an earlier call goes on', async () => {
  const scene = slowScene();
  await scene.play(async () => {
    await scene.create({ 'main/c': SLOW });
    await scene.send(['slow']);
    await scene.pause(1000);
    await scene.update({ status: 'ReceiveDisabled' });
    await scene.pause(12_000);
    await scene.send(['next']);
    await scene.update({ status: 'Active' });
    const since = scene.now;
    await scene.pause(5 * MINUTE);
    atMost((scene.timesOf('next')[0] ?? Infinity) - since, 5000, 'The next message waited');
  });
});

test('a session is called once at a time, also if an update ends its lock during a call', async () => {
  let firsts = 0;
  const scene = new Scene((_, ids) => {
    const isSlow = ids.includes('first') && firsts++ === 0;
    return { ms: isSlow ? 20_000 : 10, reply: DONE };
  });
  await scene.play(async () => {
    await scene.create({ 'main/c': { maxBatch: 2 } }, { requiresSession: true });
    await scene.send(['first', 'second', 'third'], 's');
    await scene.pause(2000);
    await scene.update({ maxDeliveryCount: 5 });
    const since = scene.now;
    await scene.send(['other'], 't');
    await scene.pause(5 * MINUTE);
    atMost((scene.timesOf('other')[0] ?? Infinity) - since, 5000, 'Another session waited');
    const calls = scene.calls.filter(({ sessionId }) => sessionId === 's');
    const gaps = calls.map(({ at }, i) => at - (calls[i - 1]?.at ?? at));
    assert.ok((gaps[1] ?? 0) >= 20_000, `two calls of a session at once, after ${gaps[1]} ms`);
    // Its lock has ended, so the first batch comes again.
    const ids = calls.map((call) => call.ids);
    assert.deepEqual(ids, [['first', 'second'], ['first', 'second'], ['third']]);
  });
});

test('a worker that was frozen tells when its calls have ended', async () => {
  const scene = new Scene(() => ({ ms: 1000, reply: DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { timeoutMs: 30_000, maxConcurrency: 1 } });
    await scene.send(['first']);
    await scene.pause(700);
    assert.equal(scene.timesOf('first').length, 1);
    scene.processes.at(-1)?.freeze(40_000);
    await scene.pause(35_000);
    await scene.send(['next']);
    const since = scene.now;
    await scene.pause(10 * MINUTE);
    // The one that took over asks every ten seconds.
    atMost((scene.timesOf('next')[0] ?? Infinity) - since, 15_000, 'The next message waited');
  });
});
