import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../runner/more.ts';
import { seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';
import { checkAfterwards } from './support/afterwards.ts';
import type { QueueSettings } from './support/model-message.ts';
import { QueueClient } from './support/queue-client.ts';
import { QueueModel } from './support/queue-model.ts';
import { printSettings } from './support/queue-steps.ts';
import type { Step } from './support/step.ts';
import { queueSettings, stepArbitraries } from './support/step-arbitraries.ts';

/**
 * Random operations on a queue over HTTP, compared with a small model. `DYNABUS_SEED` repeats a run;
 * `DYNABUS_MODEL_PATH` and `DYNABUS_MODEL_REPLAY` repeat the failure that fast-check reports as `path` and
 * `replayPath`; `DYNABUS_MODEL_RUNS` sets the number of histories.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_MODEL_RUNS'] || (isMore() ? 100 : 40));
const PATH = process.env['DYNABUS_MODEL_PATH'];
const REPLAY = process.env['DYNABUS_MODEL_REPLAY'];
/** Each shard has its own namespace and clock. */
const SHARDS = 4;
const STEPS_MAX = 25;

test(`a queue does with its messages what the model predicts, in ${RUNS} histories (seed ${SEED})`, {
  concurrency: true,
}, async (t) => {
  const shards = Array.from({ length: SHARDS }, (_, shard) =>
    t.test(`shard ${shard} of seed ${SEED}`, (shardTest) => searchForFault(shardTest, shard)),
  );
  await Promise.all(shards);
});

async function searchForFault(t: TestContext, shard: number): Promise<void> {
  const broker = await startBroker(t);
  const commands = fc.commands(stepArbitraries, {
    maxCommands: STEPS_MAX,
    size: 'max',
    ...(REPLAY === undefined ? {} : { replayPath: REPLAY }),
  });
  let queues = 0;
  const property = fc.asyncProperty(queueSettings, commands, (settings, steps) =>
    runHistory(broker, `queue-${queues++}`, settings, steps),
  );
  await fc.assert(property, {
    seed: numberOf(SEED) + shard,
    numRuns: Math.ceil(RUNS / SHARDS),
    includeErrorInReport: true,
    ...(PATH === undefined ? {} : { path: PATH }),
  });
}

/** Runs one history on a new queue, then checks the queue until all deadlines have passed. */
async function runHistory(
  broker: TestBroker,
  queue: string,
  settings: QueueSettings,
  steps: Iterable<Step>,
): Promise<void> {
  const model = new QueueModel(settings, broker.clock.now());
  const client = new QueueClient(broker, queue);
  try {
    await client.create(settings);
    await fc.asyncModelRun(() => ({ model, real: client }), steps);
    await checkAfterwards(model, client);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const history = [printSettings(settings), ...model.history].join('\n  ');
    throw new Error(`${fault}\n  after\n  ${history}`, { cause: error });
  }
}

/** A seed is eight hex digits; fast-check needs a 32-bit number. */
function numberOf(seed: string): number {
  const number = Number.parseInt(seed, 16);
  return Number.isNaN(number)
    ? [...seed].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 0) | 0
    : number | 0;
}
