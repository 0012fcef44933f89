import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueForwards } from '../../../shared/broker/routing/due-forwards.ts';
import { ManualClock, START } from '../../support/manual-clock.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function start() {
  const clock = new ManualClock();
  const scheduler = new ManualScheduler();
  const forwarded: string[] = [];
  const dueForwards = new DueForwards({ scheduler, clock }, ({ key, partition }) => {
    forwarded.push(`${key}.${partition}`);
  });
  const add = (key: string, ms: number, partition = 0) =>
    dueForwards.add({ id: key, key, partition }, START + ms);
  /** Both clocks go on. */
  const pass = async (ms: number) => {
    clock.advance({ ms });
    await scheduler.pass(ms);
    return forwarded.splice(0);
  };
  return { clock, scheduler, dueForwards, forwarded, add, pass };
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

test('nothing is forwarded after the end', async () => {
  const { add, pass, dueForwards } = start();
  add('before', MINUTE_MS);
  dueForwards.close();
  add('after', MINUTE_MS);
  assert.deepEqual(await pass(HOUR_MS), []);
});
