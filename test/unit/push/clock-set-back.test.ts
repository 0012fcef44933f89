import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import { DAY_MS, MINUTE_MS } from '../../../shared/domain/units.ts';
import { ConsumerLease } from '../../../shared/push/lease.ts';
import { PUSH } from '../../../shared/push/push-limits.ts';
import { wakeConsumer } from '../../../shared/push/wake-consumer.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeStates, OF } from './worker-fakes.ts';

/** The clock of a local server can be moved ahead, and a restart sets it back. What is stored keeps its instants. */

function start() {
  const states = new FakeStates();
  const clock = new ManualClock();
  const lease = (until: number) => ({ owner: 'former', until, calls: 2, timeoutMs: MINUTE_MS });
  return { states, clock, lease };
}

test('a lease that ends days ahead holds no consumer', async () => {
  const { states, clock, lease } = start();
  states.state = { ...states.state, turn: 1, lease: lease(clock.now() + 3 * DAY_MS) };
  const woken = await wakeConsumer(states, clock, OF);
  assert.equal(woken.kind, 'start');
  const dependencies = {
    states,
    clock,
    ages: new AgeClock(clock, () => 0),
    scheduler: realScheduler,
    reportFault: (error: unknown) => assert.fail(String(error)),
  };
  const limits = { maxConcurrency: 3, timeoutMs: MINUTE_MS };
  const taken = await ConsumerLease.take(dependencies, OF, 'next', states.state, limits);
  assert.ok(taken !== undefined);
  taken.abandon();
  // Its owner has crashed, and may have calls under way, though for no longer than one takes.
  assert.equal(taken.free(3), 1);
  clock.advance({ minutes: 1 });
  assert.equal(taken.free(3), 3);
});

test('a pause that ends days ahead keeps nobody from calling', async () => {
  const { states, clock } = start();
  const pause = { until: clock.now() + 3 * DAY_MS, tries: 1 };
  states.state = { ...states.state, turn: 1, pause };
  const woken = await wakeConsumer(states, clock, OF);
  assert.deepEqual(woken, { kind: 'start', state: { turn: 1, formerCalls: {}, isWoken: false } });
});

test('calls of former owners that end days ahead are not counted', async () => {
  const { states, clock } = start();
  const former = { calls: 1, until: clock.now() + 3 * DAY_MS };
  const recent = { calls: 1, until: clock.now() + MINUTE_MS };
  states.state = { ...states.state, turn: 1, formerCalls: { former, recent } };
  const woken = await wakeConsumer(states, clock, OF);
  assert.ok(woken.kind === 'start');
  assert.deepEqual(woken.state.formerCalls, { recent });
});

test('what is ahead by no more than machines differ counts', async () => {
  const { states, clock, lease } = start();
  states.state = { ...states.state, turn: 1, lease: lease(clock.now() + PUSH.leaseMs + 5000) };
  assert.equal((await wakeConsumer(states, clock, OF)).kind, 'held');
  const { lease: _, ...free } = states.state;
  states.state = {
    ...free,
    pause: { until: clock.now() + PUSH.unreachableMs.most + 5000, tries: 9 },
  };
  assert.equal((await wakeConsumer(states, clock, OF)).kind, 'paused');
});
