import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { WorkTurns } from '../../shared/domain/work-turns.ts';

/** Turns of an event loop that goes on when it is told to; each work takes so long. */
function loop(workMs: number) {
  let now = 0;
  const soon: (() => void)[] = [];
  const turns = new WorkTurns({ now: () => now, soon: (work) => soon.push(work) });
  const done: string[] = [];
  const settle = async () => {
    for (let step = 0; step < 100; step++) await undefined;
  };
  return {
    done,
    ask: (work: string, peer?: object) =>
      void turns.next(peer).then(() => {
        done.push(work);
        now += workMs;
      }),
    /** Asks anew as soon as it has had its turn. */
    askAgain: async (work: string, peer: object, each: { workMs: number; times: number }) => {
      for (let time = 0; time < each.times; time++) {
        await turns.next(peer);
        done.push(work);
        now += each.workMs;
      }
    },
    settle,
    /** Ends a turn: what was promised in it is carried out, then what was put off. */
    end: async () => {
      await settle();
      for (const work of soon.splice(0)) work();
      await settle();
    },
    isIdle: () => soon.length === 0,
  };
}

test('work that takes long has a turn of its own, in the order in which it was asked for', async () => {
  const { ask, end, settle, done } = loop(BUDGETS.turnMs);
  ask('1');
  await settle();
  for (const work of ['2', '3']) ask(work);
  await settle();
  assert.deepEqual(done, ['1']);
  await end();
  assert.deepEqual(done, ['1', '2']);
  ask('4');
  await end();
  assert.deepEqual(done, ['1', '2', '3']);
  await end();
  assert.deepEqual(done, ['1', '2', '3', '4']);
});

test('peers have their turns one after the other, however much one of them asks for', async () => {
  const { ask, end, settle, done } = loop(BUDGETS.turnMs);
  const [hostile, honest] = [{}, {}];
  ask('hostile 0', hostile);
  await settle();
  for (let i = 1; i <= 50; i++) ask(`hostile ${i}`, hostile);
  ask('honest', honest);
  ask('somebody');
  for (let i = 0; i < 3; i++) await end();
  assert.deepEqual(done, ['hostile 0', 'hostile 1', 'honest', 'somebody']);
  await end();
  assert.equal(done.at(-1), 'hostile 2');
});

test('a peer with many small steps has as much of them within a turn as others have of large ones', async () => {
  const { ask, askAgain, end, settle, done } = loop(BUDGETS.turnMs);
  for (let i = 0; i < 8; i++) {
    void askAgain('hostile', {}, { workMs: BUDGETS.turnMs, times: 1000 });
    await settle();
  }
  const times = 1.5 * BUDGETS.turnMs;
  void askAgain('small', {}, { workMs: 1, times });
  ask('somebody');
  for (let i = 0; i < 9; i++) await end();
  const small = () => done.filter((work) => work === 'small').length;
  assert.equal(small(), BUDGETS.turnMs);
  assert.ok(!done.includes('somebody'));
  await end();
  assert.ok(done.includes('somebody'));
  for (let i = 0; i < 9; i++) await end();
  assert.equal(small(), times);
});

test('work that takes no time shares a turn, unless it had to wait', async () => {
  const { ask, end, settle, done } = loop(0);
  for (let i = 0; i < 8; i++) ask(`${i}`);
  await settle();
  assert.equal(done.length, 8);
  const long = loop(BUDGETS.turnMs);
  for (let i = 0; i < 3; i++) {
    long.ask(`${i}`);
    await long.settle();
  }
  await long.end();
  assert.deepEqual(long.done, ['0', '1']);
  await end();
});

test('nothing is left to do where nobody asked', async () => {
  const turns = loop(1);
  turns.ask('1');
  await turns.end();
  assert.ok(turns.isIdle());
});

test('row 12: after a turn that took too long others go by without work, up to a bound', async () => {
  for (const { turnsTaken, turnsWithout } of [
    { turnsTaken: 1, turnsWithout: 0 },
    { turnsTaken: 3.5, turnsWithout: 3 },
    { turnsTaken: 1e6, turnsWithout: BUDGETS.turnsOwed },
  ]) {
    const { ask, end, settle, done } = loop(turnsTaken * BUDGETS.turnMs);
    ask('long');
    await settle();
    ask('next');
    for (let turn = 0; turn < turnsWithout; turn++) await end();
    assert.deepEqual(done, ['long']);
    await end();
    assert.deepEqual(done, ['long', 'next']);
  }
});

test('somebody has a turn even where time is over as soon as it begins', async () => {
  let now = 0;
  const soon: (() => void)[] = [];
  const late = () => {
    now += BUDGETS.turnMs;
    return now;
  };
  const turns = new WorkTurns({ now: late, soon: (work) => soon.push(work) });
  let done = 0;
  for (let i = 0; i < 3; i++) void turns.next().then(() => done++);
  for (let turn = 0; turn < 10; turn++) {
    for (let step = 0; step < 50; step++) await undefined;
    for (const work of soon.splice(0)) work();
  }
  assert.equal(done, 3);
});
