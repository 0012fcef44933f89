import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allInTurns, LoopTurns } from '../../shared/domain/loop-turns.ts';

/** Turns of an event loop that goes on when it is told to. */
function loop(perTurn: number) {
  const soon: (() => void)[] = [];
  const turns = new LoopTurns({ soon: (work) => soon.push(work) }, perTurn);
  const settle = async () => {
    for (let step = 0; step < 100; step++) await undefined;
  };
  const end = async () => {
    for (const work of soon.splice(0)) work();
    await settle();
  };
  return { turns, settle, end, isIdle: () => soon.length === 0 };
}

test('so much begins in a turn, in order, and the next turn goes on', async () => {
  const { turns, settle, end, isIdle } = loop(2);
  const begun: number[] = [];
  const all = allInTurns(turns, [1, 2, 3, 4, 5], async (entry) => {
    begun.push(entry);
    return 10 * entry;
  });
  await settle();
  assert.deepEqual(begun, [1, 2]);
  await end();
  assert.deepEqual(begun, [1, 2, 3, 4]);
  await end();
  assert.deepEqual(await all, [10, 20, 30, 40, 50]);
  await end();
  assert.ok(isIdle());
});

test('who comes later waits behind those who wait', async () => {
  const { turns, settle, end } = loop(1);
  const begun: string[] = [];
  const ask = (name: string) => void turns.next().then(() => begun.push(name));
  for (const name of ['a', 'b', 'c']) ask(name);
  await end();
  ask('d');
  await settle();
  assert.deepEqual(begun, ['a', 'b']);
  for (let left = 2; left > 0; left--) await end();
  assert.deepEqual(begun, ['a', 'b', 'c', 'd']);
});

test('what fails is told, and keeps nobody else from having a turn', async () => {
  const { turns, settle, end } = loop(1);
  const begun: number[] = [];
  const all = allInTurns(turns, [1, 2], async (entry) => {
    begun.push(entry);
    if (entry === 1) throw new Error('one');
  });
  await assert.rejects(all, /one/);
  await end();
  await settle();
  assert.deepEqual(begun, [1, 2]);
});
