import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Configuration, simulate } from '../../../bench/simulate/experiment.ts';
import { DEFAULT_QUOTAS, RAISED_QUOTAS } from '../../../bench/simulate/quotas.ts';
import { extrapolatedRow, rowOf } from '../../../bench/simulate/verdict.ts';
import { isMore } from '../../runner/more.ts';

const DURATION = { warmUpMs: 1500, measuredMs: 1000 };
/** The warm-up is long enough to deliver the backlog of the cold starts. */
const SETTLED = isMore()
  ? { warmUpMs: 5000, measuredMs: 2500 }
  : { warmUpMs: 2500, measuredMs: 1000 };
const SEED = 'test';
const SINGLES: Configuration = {
  isPartitioned: false,
  batch: 1,
  rate: 100,
  receivers: 10,
  quotas: RAISED_QUOTAS,
};

function run(changes: Partial<Configuration>, duration = DURATION) {
  return simulate({ ...SINGLES, ...changes }, duration, SEED);
}

test('a small load is delivered within the budget of units per message', async () => {
  const { delivered, isSaturated, perMessage, limit, latencies } = rowOf(await run({}, SETTLED));
  assert.ok(!isSaturated);
  assert.ok(delivered > 70 && delivered < 130, `${delivered} a second`);
  assert.ok(perMessage.write > 3.5 && perMessage.write < 6, `${perMessage.write} write units`);
  assert.equal(limit.limit, 'blocks, write units');
  // A send and a receive each call a function, which makes two round trips to the database.
  assert.ok((latencies[0] ?? 0) > 20, `${latencies[0]} ms`);
});

test('the same seed gives the same results', async () => {
  const brief = isMore() ? DURATION : { warmUpMs: 500, measuredMs: 500 };
  assert.deepEqual(rowOf(await run({}, brief)), rowOf(await run({}, brief)));
});

test('single messages saturate a plain queue at the write units of its blocks, and a partitioned queue much later', async () => {
  const load = { rate: 400, receivers: 40 };
  const plain = rowOf(await run(load));
  const partitioned = rowOf(await run({ ...load, isPartitioned: true }));
  assert.ok(plain.isSaturated);
  assert.equal(plain.limit.limit, 'blocks, write units');
  assert.ok(plain.delivered < 340, `${plain.delivered} a second`);
  assert.ok(!partitioned.isSaturated);
});

test('batches raise the throughput of a plain queue', async () => {
  const observation = await run({ batch: 100, rate: 2000, receivers: 5 }, SETTLED);
  assert.ok(!rowOf(observation).isSaturated);
  const beyond = extrapolatedRow(observation, { ...observation.configuration, rate: 100_000 });
  assert.ok(beyond.isSaturated && beyond.isExtrapolated);
  assert.ok(beyond.delivered > 2000 && beyond.delivered < 20_000, `${beyond.delivered} a second`);
});

test('waiting receivers that use up the concurrency limit of Lambda leave no capacity for senders', async () => {
  const quotas = { ...DEFAULT_QUOTAS, concurrency: 20 };
  const row = rowOf(await run({ rate: 20, receivers: 60, quotas }));
  assert.ok(row.isSaturated);
  assert.equal(row.limit.limit, 'Lambda, concurrency');
});
