import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueForwards } from '../../../shared/broker/routing/due-forwards.ts';
import { ManualClock, START } from '../../support/manual-clock.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Forwards either end at once, or when `finish` is called. */
function start({ isSlow = false } = {}) {
  const clock = new ManualClock();
  const scheduler = new ManualScheduler();
  const forwarded: string[] = [];
  const running: (() => void)[] = [];
  const dueForwards = new DueForwards({
    scheduler,
    clock,
    background: (work) => void work(),
    forward: async ({ key, partition }) => {
      forwarded.push(`${key}.${partition}`);
      if (isSlow) await new Promise<void>((end) => running.push(end));
    },
  });
  /** Lets those that run end. */
  const finish = async () => {
    for (const end of running.splice(0)) end();
    await scheduler.pass(0);
    return forwarded.splice(0);
  };
  const add = (key: string, ms: number, partition = 0) =>
    dueForwards.add({ id: key, key, partition }, START + ms);
  /** Both clocks go on. */
  const pass = async (ms: number) => {
    clock.advance({ ms });
    await scheduler.pass(ms);
    return forwarded.splice(0);
  };
  return { clock, scheduler, dueForwards, forwarded, add, pass, finish };
}

test('partitions are forwarded when something is due in them, each once', async () => {
  const { add, pass } = start();
  add('later', 2 * MINUTE_MS);
  add('sooner', MINUTE_MS);
  add('sooner', MINUTE_MS);
  add('sooner', MINUTE_MS, 1);
  assert.deepEqual(await pass(MINUTE_MS - 1), []);
  assert.deepEqual(await pass(1), ['sooner.0', 'sooner.1']);
  assert.deepEqual(await pass(MINUTE_MS), ['later.0']);
  assert.deepEqual(await pass(HOUR_MS), []);
});

test('what is due after hours is forwarded then', async () => {
  const { add, pass } = start();
  add('much later', 5 * HOUR_MS);
  for (let hour = 1; hour < 5; hour++) assert.deepEqual(await pass(HOUR_MS), []);
  assert.deepEqual(await pass(HOUR_MS), ['much later.0']);
});

test('a clock that stands still lets nothing come due, and one that is moved does at once', async () => {
  const { add, clock, scheduler, dueForwards, forwarded } = start();
  add('later', MINUTE_MS);
  await scheduler.pass(2 * MINUTE_MS);
  assert.deepEqual(forwarded, []);
  clock.advance({ minutes: 1 });
  dueForwards.check();
  assert.deepEqual(forwarded, ['later.0']);
});

test('what has come due before it is added is forwarded at once', async () => {
  const { add, clock, forwarded } = start();
  clock.advance({ ms: MINUTE_MS });
  add('late', MINUTE_MS - 1);
  assert.deepEqual(forwarded, ['late.0']);
});

test('nothing is forwarded after the end', async () => {
  const { add, pass, dueForwards } = start();
  add('before', MINUTE_MS);
  dueForwards.close();
  add('after', MINUTE_MS);
  assert.deepEqual(await pass(HOUR_MS), []);
});

test('of more than ten thousand calls the soonest are remembered', async () => {
  const { add, pass } = start();
  for (let n = 1; n <= 10_000; n++) add(`in ${n} hours`, n * HOUR_MS);
  add('soon', MINUTE_MS);
  add('never', 20_000 * HOUR_MS);
  assert.deepEqual(await pass(MINUTE_MS), ['soon.0']);
  assert.deepEqual(await pass(HOUR_MS), ['in 1 hours.0']);
});

test('what comes due in a partition that is being forwarded waits for its end, and is then forwarded once', async () => {
  const { add, pass, finish } = start({ isSlow: true });
  for (let minute = 1; minute <= 4; minute++) add('slow', minute * MINUTE_MS);
  assert.deepEqual(await pass(MINUTE_MS), ['slow.0']);
  add('other', 2 * MINUTE_MS);
  assert.deepEqual(await pass(MINUTE_MS), ['other.0']);
  assert.deepEqual(await pass(MINUTE_MS), []);
  assert.deepEqual(await finish(), ['slow.0']);
  assert.deepEqual(await finish(), []);
  assert.deepEqual(await pass(MINUTE_MS), ['slow.0']);
});

test('of many partitions eight are forwarded at the same time', async () => {
  const { add, pass, finish } = start({ isSlow: true });
  for (let n = 0; n < 20; n++) add('many', MINUTE_MS, n);
  assert.equal((await pass(MINUTE_MS)).length, 8);
  assert.equal((await finish()).length, 8);
  assert.equal((await finish()).length, 4);
});
