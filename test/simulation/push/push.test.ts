import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { seedOfRun } from '../../support/load-random.ts';
import { coreMs } from '../core-time.ts';
import { calmPlan, type PushPlan, randomPlan } from './push-plans.ts';
import { runPush } from './push-run.ts';

/**
 * Push over simulated tables in virtual time: workers that are killed and frozen, records of the stream that are lost,
 * late and doubled, requests without answers, targets that fail, hang and refuse, and other receivers.
 * `DYNABUS_SEED` repeats a run.
 */

const SEED = seedOfRun();
/** Of a core. */
const SECONDS = isMore() ? 60 : 3;

async function requireKept(plan: PushPlan): Promise<void> {
  const { violations } = await runPush(plan);
  const seen = `${violations.slice(0, 10).join('\n')}\n${JSON.stringify(plan)}`;
  assert.equal(violations.length, 0, seen);
}

test(`every message is done or dead-lettered, whatever goes wrong, in ${SECONDS} s of simulation (seed ${SEED})`, async (t) => {
  const began = coreMs();
  let runs = 0;
  for (; coreMs() - began < SECONDS * 1000 || runs < 3; runs++) {
    await requireKept(randomPlan(`${SEED}:${runs}`));
  }
  t.diagnostic(`${runs} runs`);
});

test('if the stream tells nothing, the sweep finds every message', async () => {
  for (const sessions of [0, 3]) {
    const plan = calmPlan(`${SEED}:lost`);
    await requireKept({ ...plan, sessions, stream: { ...plan.stream, lost: 1 } });
  }
});

test('if nothing goes wrong, a message waits for nobody, also if it comes when a worker is about to end', async () => {
  for (let i = 0; i < (isMore() ? 30 : 6); i++) {
    const plan = calmPlan(`${SEED}:punctual:${i}`);
    await requireKept({
      ...plan,
      sessions: i % 3 === 0 ? 2 : 0,
      messages: 300,
      poison: 0,
      maxBatch: 1 + (i % 4),
      mood: { ...plan.mood, msMax: 5 },
      stream: { lost: 0, doubled: 0, msMax: 8 },
      lateMsMax: 5000,
    });
  }
});

test('one call at a time is one call at a time, though workers are killed all the time', async () => {
  await requireKept({
    ...calmPlan(`${SEED}:killed`),
    maxConcurrency: 1,
    timeoutMs: 10_000,
    lockMs: 5000,
    faultsPerMinute: 10,
    mood: { fails: 0.1, failsInPart: 0.1, throttles: 0, hangs: 0, msMax: 8000 },
  });
});
