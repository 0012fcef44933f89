import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LoopTurns, mapInTurns } from '../../../shared/domain/turns/loop-turns.ts';
import { TurnTime } from '../../../shared/domain/turns/turn-time.ts';

/** An event loop whose turns the test ends. */
function loop(perTurn: number, time?: TurnTime) {
  const soon: (() => void)[] = [];
  const turns = new LoopTurns({ soon: (work) => soon.push(work) }, perTurn, time);
  const settle = async () => {
    for (let step = 0; step < 100; step++) await undefined;
  };
  const end = async () => {
    for (const work of soon.splice(0)) work();
    await settle();
  };
  return { turns, settle, end, isIdle: () => soon.length === 0 };
}

test('a limited amount begins in a turn, in order, and the next turn continues', async () => {
  const { turns, settle, end, isIdle } = loop(2);
  const begun: number[] = [];
  const all = mapInTurns(turns, [1, 2, 3, 4, 5], async (entry) => {
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

test('a later caller waits behind those that wait already', async () => {
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

test('row 12: peers take turns, however much work one of them has', async () => {
  const { turns, settle, end } = loop(2);
  const [hostile, honest] = [{}, {}];
  const begun: string[] = [];
  const ask = (name: string, peer: object) => void turns.next(peer).then(() => begun.push(name));
  for (let i = 0; i < 50; i++) ask(`hostile ${i}`, hostile);
  for (let i = 0; i < 2; i++) ask(`honest ${i}`, honest);
  await settle();
  assert.deepEqual(begun, ['hostile 0', 'hostile 1']);
  await end();
  assert.deepEqual(begun.splice(2), ['hostile 2', 'honest 0']);
  await end();
  assert.deepEqual(begun.splice(2), ['hostile 3', 'honest 1']);
});

test('larger work counts as more, and work that is larger than a whole turn begins too', async () => {
  const { turns, settle, end } = loop(10);
  const begun: number[] = [];
  const ask = (amount: number) => void turns.next({}, amount).then(() => begun.push(amount));
  for (const amount of [6, 3, 2, 1, 20, 5]) ask(amount);
  await settle();
  // With the third the turn is full.
  assert.deepEqual(begun.splice(0), [6, 3, 2]);
  await end();
  assert.deepEqual(begun.splice(0), [1, 20]);
  await end();
  assert.deepEqual(begun, [5]);
});

test('row 27: once the time of a turn is used up, nothing more begins in it, however little has begun', async () => {
  let now = 0;
  const { turns, end, isIdle } = loop(100, new TurnTime(() => now, 5));
  const begun: number[] = [];
  for (let i = 0; i < 7; i++) {
    turns.begin({}, () => {
      begun.push(i);
      now += 2;
    });
  }
  assert.deepEqual(begun, [0, 1, 2]);
  await end();
  // One millisecond of it is used up already.
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  await end();
  assert.equal(begun.length, 7);
  await end();
  assert.ok(isIdle());
});

test('row 27: time beyond a turn is taken off the turns that follow, up to a maximum', async () => {
  for (const { workMs, turnsWithout } of [
    { workMs: 22, turnsWithout: 3 },
    { workMs: 1e6, turnsWithout: BUDGETS.turnsOwed - 1 },
  ]) {
    let now = 0;
    const { turns, end, isIdle } = loop(100, new TurnTime(() => now, 5));
    let begun = 0;
    const work = () => {
      begun++;
      now += begun === 1 ? workMs : 0;
    };
    for (let i = 0; i < 2; i++) turns.begin({}, work);
    for (let turn = 0; turn < turnsWithout; turn++) {
      await end();
      assert.equal(begun, 1);
    }
    await end();
    assert.equal(begun, 2);
    while (!isIdle()) await end();
  }
});

test('row 12: lists take turns, however long they are', async () => {
  const { turns, settle, end } = loop(1);
  const begun: string[] = [];
  const work = (list: string) =>
    mapInTurns(turns, list.split(''), async (entry) => void begun.push(entry));
  const all = [work('abcd'), work('xy')];
  await settle();
  for (let left = 5; left > 0; left--) await end();
  await Promise.all(all);
  assert.equal(begun.join(''), 'axbycd');
});

test('a limited number of entries of a list runs at a time', async () => {
  const most = BUDGETS.turnRequests;
  const { turns, settle } = loop(Number.POSITIVE_INFINITY);
  const underWay: (() => void)[] = [];
  const entries = Array.from({ length: most + 2 }, (_, entry) => entry);
  const all = mapInTurns(turns, entries, async (entry) => {
    await new Promise<void>((resolve) => underWay.push(resolve));
    return entry;
  });
  await settle();
  assert.equal(underWay.length, most);
  underWay[1]?.();
  await settle();
  assert.equal(underWay.length, most + 1);
  for (let i = 0; i < most + 2; i++) {
    underWay[i]?.();
    await settle();
  }
  assert.deepEqual(await all, entries);
});

test('after a failure nothing more begins, and running work is awaited', async () => {
  const { turns, settle, end } = loop(2);
  const underWay: { readonly succeed: () => void; readonly fail: (error: Error) => void }[] = [];
  let isOver = false;
  const all = mapInTurns(turns, [1, 2, 3], async () => {
    await new Promise<void>((succeed, fail) => underWay.push({ succeed, fail }));
  });
  const over = assert.rejects(all, /one/).then(() => {
    isOver = true;
  });
  await settle();
  underWay[0]?.fail(new Error('one'));
  await settle();
  await end();
  assert.deepEqual([underWay.length, isOver], [2, false]);
  underWay[1]?.succeed();
  await over;
});
