import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DONE, Scene, type SceneCall } from './push-scene.ts';

/** What holds for the calls of workers that crash, freeze, or wait for slow targets. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** The most calls that were under way at one time, each for `ms`. */
function mostAtOnce(calls: readonly SceneCall[], ms: number): number {
  const running = ({ at }: SceneCall) => calls.filter((one) => one.at <= at && at < one.at + ms);
  return Math.max(0, ...calls.map((call) => running(call).length));
}

for (const maxConcurrency of [1, 10]) {
  test(`calls that a crashed worker has left count until they must be over: ${maxConcurrency} at most`, async () => {
    const ms = 75 * SECOND;
    const scene = new Scene(() => ({ ms, reply: DONE }));
    await scene.play(async () => {
      const settings = { maxConcurrency, maxBatch: 1, timeoutMs: 80 * SECOND };
      await scene.create({ 'main/c': settings }, { lockMs: 5 * SECOND });
      const ids = Array.from({ length: 2 * maxConcurrency }, (_, i) => `m${i}`);
      for (const id of ids) await scene.send([id]);
      await scene.pause(5 * SECOND);
      assert.equal(scene.calls.length, maxConcurrency);
      for (const process of scene.processes) process.crash();
      await scene.pause(20 * MINUTE);
      assert.deepEqual(new Set(scene.calls.flatMap((call) => call.ids)), new Set(ids));
      assert.ok(scene.timesOf('m0').length > 1, 'No worker crashed during a call.');
      assert.ok(mostAtOnce(scene.calls, ms) <= maxConcurrency);
    });
  });
}

test('a worker that was frozen for longer than its lease calls nobody', async () => {
  const ms = 4 * SECOND;
  const scene = new Scene(() => ({ ms, reply: DONE }));
  await scene.play(async () => {
    const settings = { maxConcurrency: 1, batchWindowMs: 10 * SECOND, timeoutMs: 5 * SECOND };
    await scene.create({ 'main/c': settings }, { lockMs: 5 * MINUTE });
    await scene.send(['first']);
    await scene.pause(5 * SECOND);
    const frozen = scene.processes.at(-1)?.machine;
    frozen?.freeze();
    await scene.pause(45 * SECOND);
    await scene.send(['second']);
    while (scene.calls.length === 0) await scene.pause(500);
    assert.deepEqual(scene.timesOf('first'), []);
    frozen?.thaw();
    await scene.pause(20 * MINUTE);
    assert.equal(scene.timesOf('first').length, 1);
    assert.equal(mostAtOnce(scene.calls, ms), 1);
  });
});

for (const requiresSession of [false, true]) {
  const what = requiresSession ? 'a session' : 'messages';
  test(`${what} of a target that takes longer than a lock come once`, async () => {
    const scene = new Scene(() => ({ ms: 50 * SECOND, reply: DONE }));
    await scene.play(async () => {
      const settings = { maxConcurrency: 5, timeoutMs: MINUTE };
      await scene.create({ 'main/c': settings }, { lockMs: 5 * SECOND, requiresSession });
      await scene.send(['a', 'b'], requiresSession ? 's' : undefined);
      await scene.pause(5 * MINUTE);
      assert.deepEqual(
        scene.calls.flatMap((call) => call.ids),
        ['a', 'b'],
      );
    });
  });
}
