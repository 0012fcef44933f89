import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
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
 * The whole life of messages in a queue against a tiny model of it, over HTTP. `DYNABUS_SEED`
 * repeats a run, `DYNABUS_MODEL_PATH` and `DYNABUS_MODEL_REPLAY` the one failure that it names as
 * `path` and `replayPath`; `DYNABUS_MODEL_RUNS` searches longer.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_MODEL_RUNS'] || 100);
const PATH = process.env['DYNABUS_MODEL_PATH'];
const REPLAY = process.env['DYNABUS_MODEL_REPLAY'];
/** Each has a namespace, and so a clock, of its own. */
const SHARDS = 4;
const STEPS_MAX = 25;

test(`messages live as the model says, in ${RUNS} histories (seed ${SEED})`, {
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

/** One history on a queue of its own, which is looked at to the end of all deadlines. */
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

/** Seeds are eight hex digits; fast-check wants a 32-bit number. */
function numberOf(seed: string): number {
  const number = Number.parseInt(seed, 16);
  return Number.isNaN(number)
    ? [...seed].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 0) | 0
    : number | 0;
}
