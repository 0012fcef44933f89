import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { WorkTurns } from '../../shared/domain/work-turns.ts';

/** Turns of an event loop that goes on when it is told to; each work takes so long. */
function loop(workMs: number) {
  let now = 0;
  const soon: (() => void)[] = [];
  const turns = new WorkTurns({ now: () => now, soon: (work) => soon.push(work) });
  const done: number[] = [];
  return {
    done,
    ask: (work: number) =>
      void turns.next().then(() => {
        done.push(work);
        now += workMs;
      }),
    /** Ends a turn: what was promised in it is carried out, then what was put off. */
    end: async () => {
      await Promise.resolve();
      for (const work of soon.splice(0)) work();
      await Promise.resolve();
      await Promise.resolve();
    },
    get isIdle() {
      return soon.length === 0;
    },
  };
}

test('work that takes long has a turn of its own, in the order in which it was asked for', async () => {
  const { ask, end, done } = loop(BUDGETS.turnMs);
  ask(1);
  await Promise.resolve();
  for (const work of [2, 3]) ask(work);
  await Promise.resolve();
  assert.deepEqual(done, [1]);
  await end();
  assert.deepEqual(done, [1, 2]);
  ask(4);
  await end();
  assert.deepEqual(done, [1, 2, 3]);
  await end();
  assert.deepEqual(done, [1, 2, 3, 4]);
});

test('work that takes no time shares a turn', async () => {
  const { ask, done } = loop(0);
  for (const work of [1, 2, 3]) ask(work);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(done, [1, 2, 3]);
});

test('nothing is left to do where nobody asked', async () => {
  const turns = loop(1);
  turns.ask(1);
  await turns.end();
  assert.ok(turns.isIdle);
});
