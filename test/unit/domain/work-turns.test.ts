import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';

/** An event loop whose turns the test ends; the test also says how long work takes. */
function loop() {
  let now = 0;
  const soon: (() => void)[] = [];
  const turns = new WorkTurns({ now: () => now, soon: (work) => soon.push(work) });
  const done: string[] = [];
  const settle = async () => {
    for (let step = 0; step < 100; step++) await undefined;
  };
  /** Asks for work that takes `ms`, and asks again after each turn, `times` times in all. */
  const ask = async (work: string, { peer = {}, ms = 0, times = 1 }: Work = {}) => {
    for (let time = 0; time < times; time++) {
      await turns.next(peer);
      done.push(work);
      now += ms;
    }
  };
  /** A turn in which other work takes `othersMs`; what one piece of work resumes runs before the next begins. */
  const turn = async (othersMs = 0) => {
    now += othersMs;
    for (const work of soon.splice(0)) {
      work();
      await settle();
    }
  };
  return { turns, done, ask, turn, isIdle: () => soon.length === 0 };
}

interface Work {
  readonly peer?: object;
  readonly ms?: number;
  readonly times?: number;
}

const { turnMs: ms, turnsOwed, turnShare } = BUDGETS;

test('work that takes a whole turn begins in one turn after the other, in the order of the requests', async () => {
  const { ask, turn, done } = loop();
  for (const work of ['1', '2', '3']) void ask(work, { ms });
  await turn();
  assert.deepEqual(done, ['1']);
  void ask('4', { ms });
  for (let i = 2; i <= 4; i++) {
    await turn();
    assert.equal(done.length, i);
  }
  assert.deepEqual(done, ['1', '2', '3', '4']);
});

test('short pieces of work share a turn, up to a maximum', async () => {
  const { ask, turn, done } = loop();
  for (let i = 0; i < 20; i++) void ask(`${i}`);
  await turn();
  assert.ok(done.length > 1 && done.length < 20, `${done.length} in a turn`);
  for (let i = 0; i < 20 && done.length < 20; i++) await turn();
  assert.deepEqual(
    done,
    Array.from({ length: 20 }, (_, i) => `${i}`),
  );
});

test('peers take turns, however much work one of them has', async () => {
  const { ask, turn, done } = loop();
  const peer = {};
  for (let i = 0; i < 50; i++) void ask('hostile', { peer, ms });
  void ask('honest', { ms });
  void ask('somebody', { ms });
  for (let i = 0; i < 4; i++) await turn();
  assert.deepEqual(done, ['hostile', 'honest', 'somebody', 'hostile']);
});

test('a peer with many small steps has as much time in a turn as peers with large steps', async () => {
  const { ask, turn, done } = loop();
  for (let i = 0; i < 8; i++) void ask('hostile', { ms, times: 1000 });
  // Four of these steps take as long as one of the others.
  const times = 6;
  void ask('small', { ms: ms / 4, times });
  const small = () => done.filter((work) => work === 'small').length;
  for (let i = 0; i < 8; i++) await turn();
  assert.equal(small(), 0);
  await turn();
  assert.equal(small(), 4);
  for (let i = 0; i < 9; i++) await turn();
  assert.equal(small(), times);
});

test('no peer waits longer than one round, however many new ones arrive', async () => {
  const { ask, turn, done } = loop();
  const peers = 5;
  const comeAnew = async () => {
    for (let i = 0; i < 1000; i++) await ask('anew', { ms });
  };
  for (let i = 0; i < peers; i++) void comeAnew();
  const times = 4;
  void ask('long', { ms, times });
  for (let i = 0; i < times * (peers + 1); i++) await turn();
  assert.equal(done.filter((work) => work === 'long').length, times);
});

test('row 12: turns without work make up for work that took too long, up to a maximum', async () => {
  for (const { turnsTaken, turnsWithout } of [
    { turnsTaken: 1, turnsWithout: 0 },
    { turnsTaken: 3.5, turnsWithout: 2 },
    { turnsTaken: 1e6, turnsWithout: turnsOwed - 1 },
  ]) {
    const { ask, turn, done } = loop();
    void ask('long', { ms: turnsTaken * ms });
    void ask('next');
    await turn();
    for (let i = 0; i < turnsWithout; i++) await turn();
    assert.deepEqual(done, ['long']);
    await turn();
    assert.deepEqual(done, ['long', 'next']);
  }
});

test('row 12: if other work is slow, making up takes no more turns', async () => {
  const { ask, turn, done } = loop();
  void ask('long', { ms: turnsOwed * ms });
  void ask('next');
  await turn();
  const othersMs = (turnsOwed * ms) / turnShare;
  await turn(othersMs / 2);
  assert.deepEqual(done, ['long']);
  await turn(othersMs / 2);
  await turn();
  assert.deepEqual(done, ['long', 'next']);
});

test('row 12: the time that other work takes in a turn is not taken off the next turn', async () => {
  const { ask, turn, done } = loop();
  const times = 10;
  for (let i = 0; i < 2; i++) void ask(`${i}`, { ms, times });
  for (let i = 0; i < 2 * times; i++) await turn(100 * ms);
  assert.equal(done.length, 2 * times);
});

test('nothing stays scheduled if no peer waits', async () => {
  const { ask, turn, isIdle } = loop();
  void ask('long', { ms: 2.5 * ms });
  assert.ok(!isIdle());
  for (let i = 0; i < 4; i++) await turn();
  assert.ok(isIdle());
});

test('one peer has its turn even if the time of the turn is over as soon as it begins', async () => {
  let now = 0;
  const soon: (() => void)[] = [];
  const late = () => {
    now += ms;
    return now;
  };
  const turns = new WorkTurns({ now: late, soon: (work) => soon.push(work) });
  let done = 0;
  for (let i = 0; i < 3; i++) void turns.next().then(() => done++);
  for (let turn = 0; turn < 10 && done < 3; turn++) {
    for (const work of soon.splice(0)) {
      work();
      for (let step = 0; step < 50; step++) await undefined;
    }
  }
  assert.equal(done, 3);
});
