import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../../../shared/push/ports.ts';
import { atMost, DONE, FAILED, MISSING, Scene } from './push-scene.ts';

/** Single situations of push, in virtual time: who is called when. */

const MINUTE = 60_000;

test('a message that was in a batch with one that fails is not held up, with one call at a time', async () => {
  const scene = new Scene((_, ids) => ({ ms: 100, reply: ids.includes('bad') ? FAILED : DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { maxConcurrency: 1 } });
    await scene.send(['bad']);
    // Three failures, after which it is delivered alone; its next delivery is 4 s later.
    while (scene.timesOf('bad').length < 3) await scene.pause(500);
    await scene.put('main/c', { enabled: false });
    await scene.pause(20_000);
    await scene.send(['good']);
    await scene.put('main/c', { enabled: true });
    const since = scene.now;
    await scene.pause(5 * MINUTE);
    atMost((scene.timesOf('good')[0] ?? Infinity) - since, 5_000, 'The good message waited');
  });
});

test('a session whose message fails goes on after its delay, with one call at a time', async () => {
  let tries = 0;
  const scene = new Scene(() => ({ ms: 100, reply: tries++ === 0 ? FAILED : DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { maxConcurrency: 1 } }, { requiresSession: true });
    await scene.send(['m'], 's');
    await scene.pause(5 * MINUTE);
    const [first = 0, second = Infinity] = scene.timesOf('m');
    atMost(second - first, 3000, 'The second delivery came after');
  });
});

test('messages that failed with different delays all come again in time', async () => {
  const failed = new Set<string>();
  const scene = new Scene(({ messages }, ids) => {
    const failures = messages.flatMap(({ message: { messageId }, sequenceNumber }) => {
      if (failed.has(messageId)) return [];
      failed.add(messageId);
      const delayMs = Number(messageId) * MINUTE;
      return [{ sequenceNumber, action: { kind: 'abandon', delayMs } as const }];
    });
    return { ms: ids.length, reply: { kind: 'answered', failures } };
  });
  await scene.play(async () => {
    await scene.create({ 'main/c': {} });
    await scene.send(['1', '5', '10']);
    await scene.pause(30 * MINUTE);
    for (const id of ['1', '5', '10']) {
      const [first = 0, second = Infinity] = scene.timesOf(id);
      atMost(second - first - Number(id) * MINUTE, 75_000, `Message ${id} was late by`);
    }
  });
});

test('a message of a dead-letter queue whose handler dead-letters it comes again after a minute', async () => {
  const scene = new Scene(({ messages }) => {
    const action = { kind: 'deadLetter' } as const;
    const failures = messages.map(({ sequenceNumber }) => ({ sequenceNumber, action }));
    return { ms: 10, reply: { kind: 'answered', failures } satisfies Reply };
  });
  await scene.play(async () => {
    await scene.create({ 'deadLetter/c': {} });
    await scene.send(['m']);
    await scene.deadLetterAll();
    await scene.pause(10 * MINUTE);
    const [first = 0, second = Infinity] = scene.timesOf('m');
    atMost(second - first, MINUTE + 75_000, 'It came again after');
  });
});

for (const requiresSession of [false, true]) {
  const what = requiresSession ? 'sessions' : 'messages';
  test(`the ${what} of a worker that crashed come again when their locks end`, async () => {
    const scene = new Scene(() => ({ ms: 10_000, reply: DONE }));
    await scene.play(async () => {
      await scene.create({ 'main/c': {} }, { lockMs: 300_000, requiresSession });
      await scene.send(['m'], requiresSession ? 's' : undefined);
      await scene.pause(5000);
      scene.processes.at(-1)?.crash();
      await scene.pause(20 * MINUTE);
      const [first = 0, second = Infinity] = scene.timesOf('m');
      atMost(second - first, 300_000 + 30_000 + 75_000, 'It came again after');
    });
  });
}

test('what a consumer without a target gives back is pushed by another one', async () => {
  const scene = new Scene(({ consumer }) =>
    consumer.name === 'a' ? { ms: 3000, reply: MISSING } : { ms: 10, reply: DONE },
  );
  await scene.play(async () => {
    await scene.create({ 'main/a': {}, 'main/b': {} });
    await scene.send(['m']);
    const since = scene.now;
    await scene.pause(20 * MINUTE);
    assert.equal(scene.calls[0]?.consumer, 'a');
    const done = scene.calls.find(({ consumer }) => consumer === 'b')?.at ?? Infinity;
    atMost(done - since, 5000, 'The healthy one got it after');
  });
});

test('a batch window ends in time for the worker', async () => {
  const scene = new Scene(() => ({ ms: 10, reply: DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { batchWindowMs: 300_000, timeoutMs: 1000 } });
    await scene.send(['m']);
    await scene.pause(20 * MINUTE);
    assert.equal(scene.killed, 0);
    assert.equal(scene.timesOf('m').length, 1);
  });
});

test('a consumer that is disabled during its batch window calls nobody', async () => {
  const scene = new Scene(() => ({ ms: 10, reply: DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { batchWindowMs: 30_000 } });
    await scene.send(['m']);
    await scene.pause(2000);
    await scene.put('main/c', { enabled: false });
    await scene.pause(5 * MINUTE);
    assert.deepEqual(scene.calls, []);
  });
});

for (const size of [{ body: 200_000 }, { body: 1, property: 30_000 }]) {
  for (const requiresSession of [false, true]) {
    const what = `${JSON.stringify(size)} ${requiresSession ? 'with' : 'without'} sessions`;
    test(`a worker holds few bytes, however many calls it may have: ${what}`, async () => {
      let bytes = 0;
      let most = 0;
      const scene: Scene = new Scene(({ messages }) => {
        const held = messages.length * Math.max(...Object.values(size));
        bytes += held;
        most = Math.max(most, bytes);
        scene.timeline.after(5000, () => {
          bytes -= held;
        });
        return { ms: 5000, reply: DONE };
      });
      await scene.play(async () => {
        const settings = { maxConcurrency: 100, maxBatch: 2 };
        await scene.create({ 'main/c': settings }, { requiresSession });
        for (let i = 0; i < 90; i++) {
          await scene.send([`m${i}`], requiresSession ? `s${i}` : undefined, size);
        }
        await scene.pause(5 * MINUTE);
        assert.equal(scene.calls.flatMap(({ ids }) => ids).length, 90);
        assert.ok(most <= 2_000_000, `${most} bytes`);
      });
    });
  }
}

test('a window ends a batch although the rate allows no further message yet', async () => {
  const scene = new Scene(() => ({ ms: 10, reply: DONE }));
  await scene.play(async () => {
    await scene.create({ 'main/c': { maxPerSecond: 1, batchWindowMs: 200 } });
    const since = scene.now;
    await scene.send(['first', 'second']);
    await scene.pause(MINUTE);
    atMost((scene.timesOf('first')[0] ?? Infinity) - since, 600, 'The first call came after');
    atMost((scene.timesOf('second')[0] ?? Infinity) - since, 3000, 'The second came after');
  });
});
