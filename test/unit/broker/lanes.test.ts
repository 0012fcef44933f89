import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Grouping, Lanes } from '../../../shared/broker/group-commit/lanes.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const ONE = { messages: 1, bytes: 100 };
const LIMITS = { calls: 100, messages: 100, bytes: 10_000 };

/** Lanes of texts whose groups end when the test says so. */
function startLanes(changes: Partial<Grouping<string, string>> = {}) {
  const scheduler = new ManualScheduler();
  const groups: string[][] = [];
  const open: (() => void)[] = [];
  const lanes = new Lanes<string, string>(scheduler, {
    limits: LIMITS,
    patience: 0.5,
    carryOut: async (calls) => {
      groups.push(calls.map(({ request }) => request));
      await new Promise<void>((end) => open.push(end));
      for (const call of calls) call.resolve(`${call.request} done`);
    },
    ...changes,
  });
  const outcomes: string[] = [];
  const join = (request: string, size = ONE, orderedBy?: object, key = 'lane') => {
    void lanes.join(key, request, size, orderedBy).then((outcome) => outcomes.push(outcome));
  };
  /** Ends the group that has been under way longest. */
  const endFirst = async () => {
    open.shift()?.();
    await scheduler.settled();
  };
  return { lanes, scheduler, groups, outcomes, join, endFirst };
}

test('a lone call starts at once, and calls that are made together share a group', async () => {
  const { scheduler, groups, outcomes, join, endFirst } = startLanes();
  join('a');
  await scheduler.settled();
  assert.deepEqual(groups, [['a']]);
  await endFirst();
  join('b');
  join('c');
  await scheduler.settled();
  assert.deepEqual(groups, [['a'], ['b', 'c']]);
  await endFirst();
  assert.deepEqual(outcomes, ['a done', 'b done', 'c done']);
});

test('calls that arrive while a group is under way become the next one, each with its own outcome', async () => {
  const { scheduler, groups, outcomes, join, endFirst } = startLanes();
  for (const request of ['a', 'b', 'c']) {
    join(request);
    await scheduler.settled();
  }
  assert.deepEqual(groups, [['a']]);
  await endFirst();
  assert.deepEqual(groups, [['a'], ['b', 'c']]);
  assert.deepEqual(outcomes, ['a done']);
  await endFirst();
  assert.deepEqual(outcomes, ['a done', 'b done', 'c done']);
});

test('lanes do not wait for each other', async () => {
  const { scheduler, groups, join } = startLanes();
  join('a');
  await scheduler.settled();
  join('b', ONE, undefined, 'other lane');
  await scheduler.settled();
  assert.deepEqual(groups, [['a'], ['b']]);
});

test('after a group with company, the next one waits until as many have called, for its share of the time that the last one took', async () => {
  const { scheduler, groups, join, endFirst } = startLanes();
  join('a');
  join('b');
  await scheduler.pass(8);
  await endFirst();
  join('c');
  await scheduler.pass(3);
  assert.deepEqual(groups, [['a', 'b']], 'it waits for a second call');
  join('d');
  await scheduler.settled();
  assert.deepEqual(
    groups,
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    'nobody else is expected',
  );
  await scheduler.pass(8);
  await endFirst();
  join('e');
  await scheduler.pass(4);
  assert.deepEqual(groups.at(-1), ['e'], 'the second call did not come');
  await endFirst();
  join('f');
  await scheduler.settled();
  assert.deepEqual(groups.at(-1), ['f'], 'a lone caller does not wait');
});

test('no group waits for more than 10 ms', async () => {
  const { scheduler, groups, join, endFirst } = startLanes();
  join('a');
  join('b');
  await scheduler.pass(5000);
  await endFirst();
  join('c');
  await scheduler.pass(10);
  assert.deepEqual(groups, [['a', 'b'], ['c']]);
});

test('long after a group with company, a lone call does not wait', async () => {
  const { scheduler, groups, join, endFirst } = startLanes();
  join('a');
  join('b');
  await scheduler.settled();
  await endFirst();
  await scheduler.pass(11);
  join('c');
  await scheduler.settled();
  assert.deepEqual(groups, [['a', 'b'], ['c']]);
});

test('a lane that lingers waits a little longer for each group while calls keep coming; a wait for nobody ends that', async () => {
  const { scheduler, groups, join, endFirst } = startLanes({ lingerMsMax: 8 });
  let joined = 0;
  const joinMany = (count: number) => {
    for (let i = 0; i < count; i++) join(`${joined++}`);
  };
  /** As many calls as the last group had arrive during it; returns how long they wait, ms, for more. */
  const waitMs = async (more: number) => {
    joinMany(groups.at(-1)?.length ?? 0);
    await endFirst();
    joinMany(more);
    const before = groups.length;
    let ms = 0;
    for (; groups.length === before && ms <= 20; ms++) await scheduler.pass(1);
    return ms;
  };
  joinMany(2);
  await scheduler.settled();
  for (const expected of [1, 2, 4, 8, 8]) assert.equal(await waitMs(1), expected);
  assert.equal(await waitMs(0), 8);
  assert.equal(await waitMs(0), 1);
});

test('a group has a limit of callers, messages and bytes, and is cut in the order of the calls', async () => {
  const sizes = {
    calls: { ...ONE, limits: { ...LIMITS, calls: 2 } },
    messages: { messages: 50, bytes: 0, limits: LIMITS },
    bytes: { messages: 1, bytes: 5000, limits: LIMITS },
  };
  for (const [what, { limits, ...size }] of Object.entries(sizes)) {
    const { scheduler, groups, join, endFirst } = startLanes({ limits });
    for (const request of ['a', 'b', 'c']) join(request, size);
    await scheduler.settled();
    await endFirst();
    await scheduler.pass(10);
    assert.deepEqual(groups, [['a', 'b'], ['c']], what);
  }
});

test('a call above a limit is a group by itself', async () => {
  const { scheduler, groups, join } = startLanes();
  join('large', { messages: 1000, bytes: 1_000_000 });
  await scheduler.settled();
  assert.deepEqual(groups, [['large']]);
});

test('calls that may not share a group are in groups of their own, in order', async () => {
  const mayShare = (one: string, other: string) => one[0] === other[0];
  const { scheduler, groups, join, endFirst } = startLanes({ mayShare });
  for (const request of ['a1', 'a2', 'b1', 'a3']) join(request);
  for (let i = 0; i < 3; i++) {
    await scheduler.pass(10);
    await endFirst();
  }
  assert.deepEqual(groups, [['a1', 'a2'], ['b1'], ['a3']]);
});

test('a group that stalls holds up the next one for 100 ms, and then only what must stay in order', async () => {
  const { scheduler, groups, join, endFirst } = startLanes();
  const link = {};
  join('a', ONE, link);
  await scheduler.settled();
  join('b', ONE, link);
  join('c');
  await scheduler.pass(99);
  assert.deepEqual(groups, [['a']]);
  await scheduler.pass(1);
  assert.deepEqual(groups, [['a'], ['c']]);
  await scheduler.pass(1000);
  assert.deepEqual(groups, [['a'], ['c']], 'b may not overtake a');
  await endFirst();
  await scheduler.pass(10);
  assert.deepEqual(groups, [['a'], ['c'], ['b']]);
});

test('few groups of a lane stall at the same time', async () => {
  const { scheduler, groups, join } = startLanes();
  for (let i = 0; i < 100; i++) {
    join(`${i}`);
    await scheduler.pass(100);
  }
  assert.equal(groups.length, 16);
});

test('calls that a group leaves unanswered come first in the next one, at once', async () => {
  const groups: string[][] = [];
  const carryOut: Grouping<string, string>['carryOut'] = async (calls, lane) => {
    groups.push(calls.map(({ request }) => request));
    const [first, ...others] = calls;
    lane.again(others);
    await Promise.resolve();
    first?.resolve('served');
  };
  const { scheduler, outcomes, join } = startLanes({ carryOut });
  for (const request of ['a', 'b', 'c']) join(request);
  await scheduler.settled();
  assert.deepEqual(groups, [['a', 'b', 'c'], ['b', 'c'], ['c']]);
  assert.equal(outcomes.length, 3);
});

test('a lane is forgotten when it has no calls, after company a moment later', async () => {
  const { lanes, scheduler, join, endFirst } = startLanes();
  for (let i = 0; i < 100; i++) {
    join('a', ONE, undefined, `lane ${i}`);
    await scheduler.settled();
    assert.equal(lanes.size, 1);
    await endFirst();
    assert.equal(lanes.size, 0);
  }
  join('a');
  join('b');
  await scheduler.settled();
  await endFirst();
  assert.equal(lanes.size, 1, 'others may come back');
  await scheduler.pass(10);
  assert.equal(lanes.size, 0);
});

test('as many calls as one group takes do not wait for more', async () => {
  const limits = { ...LIMITS, calls: 2 };
  const { scheduler, groups, join, endFirst } = startLanes({ limits });
  for (const request of ['a', 'b', 'c', 'd', 'e', 'f']) join(request);
  await scheduler.pass(8);
  await endFirst();
  assert.deepEqual(groups, [
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

test('the end of a forgotten lane does not forget the one that took its place', async () => {
  const { lanes, scheduler, groups, join, endFirst } = startLanes();
  join('a');
  join('b');
  await scheduler.settled();
  await endFirst();
  join('c');
  await scheduler.settled();
  await endFirst();
  // The lane had a lone call after its company, so it is forgotten before the moment after the company is over.
  assert.equal(lanes.size, 0);
  join('d');
  await scheduler.pass(10);
  join('e');
  await scheduler.settled();
  assert.deepEqual(groups, [['a', 'b'], ['c'], ['d']], 'e waits for d');
});
