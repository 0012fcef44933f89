import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { type FaultClient, type FaultRates, startFaults } from '../support/fault-client.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';
import { checkAftermath } from './support/fault-aftermath.ts';
import { FaultHistory } from './support/fault-history.ts';
import type { QueueSettings } from './support/model-message.ts';
import { QueueClient } from './support/queue-client.ts';

/**
 * What holds while the database loses requests and answers, throttles requests, and answers them out of
 * order. `DYNABUS_SEED` repeats the histories of a run, and `DYNABUS_FAULT_HISTORY` one of them alone;
 * `DYNABUS_FAULT_RUNS` sets the number of histories.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_FAULT_RUNS'] || (isMore() ? 50 : 12));
const ONLY = process.env['DYNABUS_FAULT_HISTORY'];
/** Each shard has its own namespace, clock and faults. */
const SHARDS = 4;
const STEPS = 16;

const RATES: readonly [FaultRates, ...FaultRates[]] = [
  { requestLost: 0.01, answerLost: 0.02, throttled: 0.01, failed: 0.01, slow: 0.02 },
  { requestLost: 0.05, answerLost: 0.05, throttled: 0.05, failed: 0.02, slow: 0.05 },
  { requestLost: 0.1, answerLost: 0.2, throttled: 0.1, failed: 0.05, slow: 0.05 },
  { requestLost: 0, answerLost: 0.3, throttled: 0, failed: 0.1, slow: 0 },
  // No request fails; concurrent requests overtake each other.
  { requestLost: 0, answerLost: 0, throttled: 0, failed: 0, slow: 0.3 },
];

test(`an acknowledged operation is neither lost nor applied twice while the database fails, in ${RUNS} histories (seed ${SEED})`, {
  concurrency: true,
}, async (t) => {
  const tallies = { done: 0, refused: 0, unknown: 0 };
  const shards = Array.from({ length: SHARDS }, (_, shard) =>
    t.test(`shard ${shard} of seed ${SEED}`, (shardTest) => runShard(shardTest, shard, tallies)),
  );
  await Promise.all(shards);
  t.diagnostic(JSON.stringify(tallies));
  if (ONLY === undefined) assert.ok(tallies.unknown > 0, 'no request had an unknown outcome');
});

async function runShard(
  t: TestContext,
  shard: number,
  tallies: Record<'done' | 'refused' | 'unknown', number>,
): Promise<void> {
  const faults = startFaults();
  t.after(() => faults.client.destroy());
  const broker = await startBroker(t, { client: faults.client });
  for (let number = shard; number < RUNS; number += SHARDS) {
    if (ONLY !== undefined && Number(ONLY) !== number) continue;
    const outcomes = await runHistory(broker, faults, number);
    for (const key of ['done', 'refused', 'unknown'] as const) tallies[key] += outcomes[key];
  }
  t.diagnostic(JSON.stringify(faults.counts));
}

/** Runs one history under faults, then checks the queue once the faults have stopped. */
async function runHistory(broker: TestBroker, faults: FaultClient, number: number) {
  const seed = `${SEED}:${number}`;
  const random = new LoadRandom(seed);
  const settings: QueueSettings = {
    lockMs: random.pick([5000, 30_000]),
    maxDeliveryCount: random.pick([2, 10, 10]),
    defaultTtlMs: undefined,
    deadLettersExpired: random.chance(0.5),
  };
  const client = new QueueClient(broker, `queue-${number}`);
  await client.create(settings);
  const history = new FaultHistory(client, random, faults, settings);
  const before = faults.unforeseen;
  try {
    faults.start(`${seed}:faults`, random.pick(RATES));
    for (let step = 0; step < STEPS; step++) await history.step();
    faults.stop();
    await broker.units(async () => {});
    await checkAftermath(client, history.ledger, settings.lockMs);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const log = history.log.join('\n  ');
    const unforeseen = `${faults.unforeseen - before} requests failed by themselves`;
    throw new Error(`History ${number} of seed ${SEED}: ${fault}\n  ${log}\n  ${unforeseen}`, {
      cause: error,
    });
  } finally {
    faults.stop();
  }
  return history.outcomes;
}
