import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DONE, Scene } from './push-scene.ts';

/** What changes about a consumer and its queue while a target works for long, in virtual time. */

const MINUTE = 60_000;
/** The call with the message `slow` takes as long as it may. */
const SLOW = { timeoutMs: MINUTE };

/** A scene whose target works a minute on the message `slow`. */
function slowScene(): Scene {
  return new Scene((_, ids) => ({ ms: ids.includes('slow') ? MINUTE - 1 : 10, reply: DONE }));
}

function fewerThan(actual: number, most: number, what: string): void {
  assert.ok(actual <= most, `${what} ${actual} ms, at most ${most}`);
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
    fewerThan((scene.timesOf('next')[0] ?? Infinity) - since, 5000, 'The next message waited');
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
    fewerThan((scene.timesOf('next')[0] ?? Infinity) - since, 5000, 'The next message waited');
  });
});
